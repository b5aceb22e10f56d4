package magistrate

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestWarrantsReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Warrant{
		"document:plan#viewer@user:ann": {
			Object: Ref{Type: "document", ID: "plan"}, Relation: "viewer", Subject: Ref{Type: "user", ID: "ann"}},
		"document:a@b:c#viewer@team:x:y@z#member": {
			Object: Ref{Type: "document", ID: "a@b:c"}, Relation: "viewer",
			Subject: Ref{Type: "team", ID: "x:y@z", Relation: "member"}},
		"document:*#viewer@user:*[a == \"[x]\" &&\nb]": {
			Object: Ref{Type: "document", ID: "*"}, Relation: "viewer", Subject: Ref{Type: "user", ID: "*"},
			Policy: "a == \"[x]\" &&\nb"},
		"document:日本#viewer@user:o'brien?": {
			Object: Ref{Type: "document", ID: "日本"}, Relation: "viewer", Subject: Ref{Type: "user", ID: "o'brien?"}},
	} {
		read, err := ParseWarrant(text)
		if err != nil || !reflect.DeepEqual(read, want) || read.String() != text {
			t.Errorf("%s: %+v, %v", text, read, err)
		}
	}
	quoted, err := ParseWarrant(`document:"a,b"#viewer@user:"ann"`)
	if err != nil || quoted.String() != "document:a,b#viewer@user:ann" {
		t.Errorf("%s, %v", quoted, err)
	}
	for _, text := range []string{"", "document", "document:plan", "document:plan#viewer", "document:plan@user:ann",
		"document:#viewer@user:ann", ":plan#viewer@user:ann", "document:plan#viewer@user:ann#", "document:plan#viewer@user:ann[]"} {
		if read, err := ParseWarrant(text); err == nil {
			t.Errorf("%q reads as %+v", text, read)
		}
	}
}

func TestRefsReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Ref{
		"user:ann": {Type: "user", ID: "ann"}, "user:a:b": {Type: "user", ID: "a:b"}, "user:*": {Type: "user", ID: "*"},
		"team:eng#member": {Type: "team", ID: "eng", Relation: "member"},
	} {
		if read, err := ParseRef(text); err != nil || read != want || read.String() != text {
			t.Errorf("%s: %+v, %v", text, read, err)
		}
	}
	for _, text := range []string{"", "ann", "user:", ":ann", "user:a#", "user:a#b#c", "user:a[b]"} {
		if read, err := ParseRef(text); err == nil {
			t.Errorf("%q reads as %+v", text, read)
		}
	}
}

func TestWarrantsHaveTheFormOfTheAPI(t *testing.T) {
	warrant := Warrant{
		Object: Ref{Type: "document", ID: "plan"}, Relation: "viewer", Subject: Ref{Type: "team", ID: "eng", Relation: "member"},
		Policy: "a", ExpiresAt: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
	}
	text, err := json.Marshal(warrant)
	want := `{"objectType":"document","objectId":"plan","relation":"viewer","subject":{"objectType":"team","objectId":"eng",` +
		`"relation":"member"},"policy":"a","expiresAt":"2026-12-01T00:00:00Z"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	var read Warrant
	if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, warrant) {
		t.Errorf("%+v, %v", read, err)
	}
}
