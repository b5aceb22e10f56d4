package magistratehttp

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	magistrate "magistrate.example/clients/go"
)

// answers maps the ids of checked objects to what the service answers.
var answers = map[string]struct {
	status int
	body   string
}{
	"open":    {200, `{"code":200,"result":"Authorized"}`},
	"closed":  {200, `{"code":403,"result":"Not Authorized"}`},
	"two ids": {400, `{"code":"invalid_parameter","message":"no blanks","parameter":"objectId"}`},
	"key":     {403, `{"code":"forbidden","message":"the scope check is needed"}`},
	"away":    {503, `{"code":"unavailable","message":"away"}`},
	"half":    {200, `{"code":200,"resu`},
}

func TestOnlyAnAllowedCheckPassesARequestOn(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			Warrants []struct {
				ID string `json:"objectId"`
			} `json:"warrants"`
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		answer := answers[sent.Warrants[0].ID]
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(answer.status)
		_, _ = io.WriteString(w, answer.body)
	}))
	defer service.Close()
	client, err := magistrate.New(magistrate.WithURL(service.URL), magistrate.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	guard := Guard{Client: client, Subject: func(r *http.Request) string { return r.Header.Get("X-Tested-Subject") }}
	passed := 0
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ })
	mux := http.NewServeMux()
	mux.Handle("GET /documents/{id}", guard.Require("can-read", "document:{id}", next))
	mux.Handle("GET /fixed", guard.Require("can-read", "document:open", next))

	for _, given := range []struct {
		path, subject string
		status        int
	}{
		{"/documents/open", "user:ann", 200}, {"/fixed", "user:ann", 200}, {"/documents/open", "", 401},
		{"/documents/closed", "user:ann", 403}, {"/documents/two%20ids", "user:ann", 403},
		{"/documents/%22open%22", "user:ann", 403}, {"/documents/open%23x", "user:ann", 403},
		{"/documents/*", "user:ann", 403}, {"/documents/open", "ann", 403}, {"/documents/key", "user:ann", 500},
		{"/documents/away", "user:ann", 503}, {"/documents/half", "user:ann", 503},
	} {
		before := passed
		recorder := httptest.NewRecorder()
		request := httptest.NewRequest("GET", given.path, nil)
		request.Header.Set("X-Tested-Subject", given.subject)
		mux.ServeHTTP(recorder, request)
		if recorder.Code != given.status || (passed > before) != (given.status == 200) {
			t.Errorf("%s of %q: %d, not %d", given.path, given.subject, recorder.Code, given.status)
		}
		if given.path == "/documents/away" && recorder.Header().Get("Retry-After") != "30" {
			t.Errorf("%v", recorder.Header())
		}
	}
}

func TestAnObjectThatCannotBeIsFoundAtTheStart(t *testing.T) {
	for _, object := range []string{"", "document", "document:", "document:{id", "document:id}", "{type}:{id}", "document:a#b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was accepted", object)
				}
			}()
			Guard{}.Require("can-read", object, http.NotFoundHandler())
		}()
	}
}
