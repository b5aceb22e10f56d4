package magistrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// feed answers each connection with the next of these texts, and notes the parameters of each.
func feed(t *testing.T, sent *[]string, connections ...string) *Client {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		*sent = append(*sent, r.URL.RawQuery)
		if r.Header.Get("Accept-Encoding") != "identity" || r.Header.Get("Accept") != linesType {
			t.Errorf("sent with %v", r.Header)
		}
		number := len(*sent) - 1
		if number >= len(connections) {
			answerWith(410, `{"code":"gone","message":"not kept"}`)(w, r)
			return
		}
		w.Header().Set("Content-Type", linesType)
		_, _ = io.WriteString(w, connections[number])
	}, WithTimeout(5*time.Second))
}

func TestASnapshotThatIsCutBeginsAgain(t *testing.T) {
	var sent []string
	client := feed(t, &sent,
		`{"event":"snapshot","warrants":[{"objectType":"document","objectId":"old","relation":"viewer","subject":{"objectType":"user","objectId":"ann"}}]}`+"\n"+
			`{"event":"snap`,
		`{"event":"snapshot","objects":[{"objectType":"document","objectId":"new","meta":{"a":1}}]}`+"\n"+
			`{"event":"snapshot","warrants":[]}`+"\n"+
			`{"event":"checkpoint","token":"one","time":"2026-03-02T08:00:00Z"}`+"\n"+
			`{"event":"revision","token":"two","time":"2026-03-02T08:00:03Z","warrants":{"expired":[{"objectType":"document","objectId":"a","relation":"viewer","subject":{"objectType":"user","objectId":"ann"}}]}}`+"\n"+
			`{"event":"end","token":"two","reason":"shutting_down"}`+"\n",
		`{"event":"checkpoint","token":"two","time":"2026-03-02T08:00:04Z"}`+"\n",
	)
	var seen []string
	var last error
	for event, err := range client.Watch(context.Background(), WatchQuery{Snapshot: true, Relations: []string{"viewer"}}) {
		if last = err; err != nil {
			break
		}
		seen = append(seen, fmt.Sprintf("%s %s %v", event.Type, event.Since, event.BeginsSnapshot))
		if event.Type == Revision && event.Warrants.Expired[0].String() != "document:a#viewer@user:ann" {
			t.Errorf("%+v", event)
		}
		if len(event.State.Objects) == 1 && event.State.Objects[0].String() != "document:new" {
			t.Errorf("%+v", event.State)
		}
	}
	want := []string{
		"snapshot  true", "snapshot  true", "snapshot  false", "checkpoint one false", "revision two false", "checkpoint two false"}
	if !reflect.DeepEqual(seen, want) || !errors.Is(last, ErrGone) {
		t.Errorf("%q, %v", seen, last)
	}
	wantSent := []string{
		"relation=viewer&snapshot=true", "relation=viewer&snapshot=true", "relation=viewer&since=two", "relation=viewer&since=two"}
	if !reflect.DeepEqual(sent, wantSent) {
		t.Errorf("%q", sent)
	}
	if client.Token() != "two" {
		t.Errorf("%s", client.Token())
	}
}

func TestAnEmptySnapshotBeginsWithItsCheckpoint(t *testing.T) {
	var sent []string
	client := feed(t, &sent, `{"event":"checkpoint","token":"one"}`+"\n")
	for event, err := range client.Access(context.Background(), AccessQuery{Of: []string{"document#viewer@user"}, Snapshot: true}) {
		if err != nil || !event.BeginsSnapshot {
			t.Errorf("%+v, %v", event, err)
		}
		break
	}
}

func TestAccessGoesOnWithTheIdOfTheLastEvent(t *testing.T) {
	var sent []string
	client := feed(t, &sent,
		`{"event":"access","token":"one","id":"one.5","gained":[{"objectType":"document","objectId":"plan","relation":"viewer",`+
			`"subject":{"objectType":"user","objectId":"kim"},"conditional":true,"cause":{"created":[],"deleted":[],"objectTypes":["document"]}}]}`+"\n"+
			`{"event":"access","token":"one","id":"one.6","resync":true}`+"\n")
	var events []*AccessEvent
	for event, err := range client.Access(context.Background(), AccessQuery{Of: []string{"document#viewer@user"}}) {
		if err != nil {
			break
		}
		events = append(events, event)
	}
	if len(events) != 2 || events[0].Gained[0].String() != "document:plan#viewer@user:kim" || !events[0].Gained[0].Conditional ||
		events[0].Gained[0].Cause.ObjectTypes[0] != "document" || !events[1].Resync || events[0].Resync {
		t.Errorf("%+v", events)
	}
	if want := []string{"of=document%23viewer%40user", "of=document%23viewer%40user&since=one.6"}; !reflect.DeepEqual(sent, want) {
		t.Errorf("%q", sent)
	}
}

func TestAFeedEndsForReasonsThatRemain(t *testing.T) {
	for reason, want := range map[string]error{
		"key_ended": ErrUnauthorized, "store_restored": ErrRevisionLost, "store_deleted": ErrNotFound,
		"revision_lost": ErrRevisionLost, "not_retained": ErrGone, "budget_exceeded": ErrBudgetSpent,
	} {
		var sent []string
		client := feed(t, &sent, `{"event":"end","reason":"`+reason+`"}`+"\n")
		for _, err := range client.Watch(context.Background(), WatchQuery{}) {
			if !errors.Is(err, want) || len(sent) != 1 {
				t.Errorf("%s: %v", reason, err)
			}
		}
	}
}

func TestAFeedWithoutEventsEndsAfterItsRetries(t *testing.T) {
	var sent []string
	client := feed(t, &sent, "", "", "", "", "", "", "")
	count := 0
	for _, err := range client.Watch(context.Background(), WatchQuery{}) {
		count++
		var lost *ConnectionError
		if !errors.As(err, &lost) {
			t.Errorf("%v", err)
		}
	}
	if count != 1 || len(sent) != 4 {
		t.Errorf("%d errors after %d connections", count, len(sent))
	}
}

func TestAFeedThatIsSilentIsCut(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reader, writer := io.Pipe()
	context.AfterFunc(ctx, func() { _ = writer.CloseWithError(ctx.Err()) })
	limit := time.AfterFunc(time.Hour, cancel)
	err := readLines(&watchedReader{reader, limit, 10 * time.Millisecond}, func([]byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("%v", err)
	}
}

func TestLinesOfAnyLengthAreRead(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	var lines []string
	err := readLines(strings.NewReader("a\n\n"+long+"\nb\nincomplete"), func(line []byte) error {
		lines = append(lines, strings.TrimSpace(string(line)))
		return nil
	})
	if !reflect.DeepEqual(lines, []string{"a", long, "b"}) || err == nil {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
