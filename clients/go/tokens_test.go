package magistrate

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"testing"
	"time"
)

func tokenOf(store string, revision uint64) string {
	content := append([]byte{2}, (store + "--------")[:8]...)
	content = binary.BigEndian.AppendUint64(content, revision)
	return base64.RawURLEncoding.EncodeToString(append(content, "bitscrc0"...))
}

func TestTheNewestTokenIsRemembered(t *testing.T) {
	old, recent, other := tokenOf("a", 7), tokenOf("a", 300), tokenOf("b", 1)
	for _, given := range []struct {
		name   string
		tokens []string
		want   string
	}{
		{"in order", []string{old, recent}, recent},
		{"out of order", []string{recent, old}, recent},
		{"of another store", []string{recent, other}, other},
		{"of an unknown form", []string{recent, "new-form"}, "new-form"},
		{"after an unknown form", []string{"new-form", old}, old},
		{"none", []string{recent, ""}, recent},
	} {
		var remembered session
		for _, token := range given.tokens {
			remembered.remember(token)
		}
		if remembered.get() != given.want {
			t.Errorf("%s: %s", given.name, remembered.get())
		}
	}
}

func TestALostTokenIsDiscardedUnlessThereIsAnother(t *testing.T) {
	lost := tokenOf("a", 7)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Service-Token") == lost {
			answerWith(409, `{"code":"revision_lost","message":"lost"}`)(w, r)
			return
		}
		answerWith(200, `{"code":200,"result":"Authorized"}`, "Service-Token", tokenOf("a", 3))(w, r)
	})
	check := func(options ...CallOption) error {
		_, err := client.Check(context.Background(), "user:ann", "viewer", "document:plan", options...)
		return err
	}
	client.session.remember(lost)
	if err := check(); !errors.Is(err, ErrRevisionLost) || !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	if err := check(); err != nil || client.Token() != tokenOf("a", 3) {
		t.Errorf("%v, %s", err, client.Token())
	}
	if err := check(WithToken(lost)); !errors.Is(err, ErrRevisionLost) || client.Token() != tokenOf("a", 3) {
		t.Errorf("%v, %s", err, client.Token())
	}
}

func TestRetryAfterIsSecondsOrATime(t *testing.T) {
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"3": 3 * time.Second, " 0 ": 0, "Fri, 27 Nov 2026 10:00:05 GMT": 5 * time.Second,
		"Fri, 27 Nov 2026 09:00:00 GMT": 0,
	} {
		if delay, saysWhen := readRetryAfter(text, now); delay != want || !saysWhen {
			t.Errorf("%q: %s, %v", text, delay, saysWhen)
		}
	}
	if delay, saysWhen := readRetryAfter("99999999999999999999", now); saysWhen {
		t.Errorf("%s", delay)
	}
	if delay, _ := readRetryAfter("18446744073709551615", now); delay < time.Hour {
		t.Errorf("%s", delay)
	}
	for _, text := range []string{"", "soon", "-1", "1.5"} {
		if _, saysWhen := readRetryAfter(text, now); saysWhen {
			t.Errorf("%q says when", text)
		}
	}
}
