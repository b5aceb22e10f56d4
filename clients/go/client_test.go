package magistrate

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const key = "a-key-of-a-test-that-nobody-else-has"

// serve starts a server that answers with the handler, and returns a client of it.
func serve(t *testing.T, handler http.HandlerFunc, options ...Option) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := New(append([]Option{WithURL(server.URL), WithKey(key)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func answerWith(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestOptionsComeFromTheEnvironment(t *testing.T) {
	var sent *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r
		answerWith(200, `{"code":200,"result":"Authorized"}`)(w, r)
	}))
	defer server.Close()
	t.Setenv("MAGISTRATE_URL", server.URL+"/")
	t.Setenv("MAGISTRATE_API_KEY", key)
	t.Setenv("MAGISTRATE_STORE", "acme")
	client, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Check(context.Background(), "user:ann", "viewer", "document:plan"); err != nil {
		t.Fatal(err)
	}
	if sent.URL.Path != "/stores/acme/v2/check" || sent.Header.Get("Authorization") != "ApiKey "+key {
		t.Errorf("sent %s with %s", sent.URL, sent.Header)
	}
	if sent.Header.Get("User-Agent") != "magistrate-go/"+Version {
		t.Errorf("sent as %s", sent.UserAgent())
	}
}

func TestOptionsThatCannotBeAreRefusedWithoutSecrets(t *testing.T) {
	t.Setenv("MAGISTRATE_URL", "")
	for name, options := range map[string][]Option{
		"no url":       {},
		"scheme":       {WithURL("ftp://127.0.0.1")},
		"password":     {WithURL("http://ann:" + key + "@127.0.0.1")},
		"query":        {WithURL("http://127.0.0.1?key=" + key)},
		"line break":   {WithURL("http://127.0.0.1"), WithKey(key + "\nX-Other: 1")},
		"blank":        {WithURL("http://127.0.0.1"), WithKey(key + " ")},
		"timeout":      {WithURL("http://127.0.0.1"), WithTimeout(0)},
		"retries":      {WithURL("http://127.0.0.1"), WithRetries(-1)},
		"consistency":  {WithURL("http://127.0.0.1"), WithConsistency("newest")},
		"control sign": {WithURL("http://127.0.0.1/\x7f")},
	} {
		_, err := New(options...)
		var argument *ArgumentError
		if !errors.As(err, &argument) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsHaveNoKey(t *testing.T) {
	client, err := New(WithURL("http://127.0.0.1:1"), WithKey(key), WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Check(context.Background(), "user:ann", "viewer", "document:plan")
	var lost *ConnectionError
	if !errors.As(err, &lost) || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
}

func TestAKeyDoesNotFollowARedirect(t *testing.T) {
	var requests atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer other.Close()
	for _, own := range []*http.Client{nil, {}} {
		var options []Option
		if own != nil {
			options = append(options, WithHTTPClient(own))
		}
		client := serve(t, answerWith(307, "", "Location", other.URL+"/v2/check"), options...)
		if _, err := client.Check(context.Background(), "user:ann", "viewer", "document:plan"); err == nil {
			t.Error("a redirect was taken for an answer")
		}
	}
	if requests.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestNothingButAResultAllows(t *testing.T) {
	for _, body := range []string{
		``, `null`, `{}`, `[]`, `true`, `{"code":200}`, `{"result":"Authorized"}`, `{"code":403,"result":"Authorized"}`,
		`{"code":200,"result":"authorized"}`, `{"code":200,"result":"Authori`, `<html>`,
	} {
		client := serve(t, answerWith(200, body))
		isAllowed, err := client.Check(context.Background(), "user:ann", "viewer", "document:plan")
		if isAllowed || err == nil {
			t.Errorf("%q allows: %v, %v", body, isAllowed, err)
		}
		many, err := client.CheckMany(context.Background(), []Check{{Subject: "user:ann", Relation: "viewer", Object: "document:plan"}})
		if len(many) != 0 || err == nil {
			t.Errorf("%q allows one of many: %v, %v", body, many, err)
		}
	}
	client := serve(t, answerWith(200, `[{"code":200,"result":"Authorized"}]`))
	check := Check{Subject: "user:ann", Relation: "viewer", Object: "document:plan"}
	if many, err := client.CheckMany(context.Background(), []Check{check, check}); err == nil {
		t.Errorf("two checks have one result: %v", many)
	}
}

func TestALongerRetryAfterReturnsAtOnce(t *testing.T) {
	client := serve(t, answerWith(503, `{"code":"unavailable","message":"away"}`, "Retry-After", "60"))
	_, err := client.Check(context.Background(), "user:ann", "viewer", "document:plan")
	var refused *Error
	if !errors.As(err, &refused) || refused.RetryAfter != time.Minute || !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestTheContextOfTheCallerEndsACall(t *testing.T) {
	held := make(chan struct{})
	client := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	})
	defer close(held)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := client.Check(ctx, "user:ann", "viewer", "document:plan"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := client.Check(ctx, "user:ann", "viewer", "document:plan")
	var late *TimeoutError
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) {
		t.Errorf("%v", err)
	}
	for _, err := range client.Watch(ctx, WatchQuery{}) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
}

func TestTheTimeoutCoversRetriesAndSaysWhatCameBefore(t *testing.T) {
	var requests atomic.Int32
	held := make(chan struct{})
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			answerWith(503, `{"code":"unavailable","message":"the database is away"}`, "Retry-After", "0")(w, r)
			return
		}
		<-held
	}, WithTimeout(100*time.Millisecond))
	defer close(held)
	_, err := client.Check(context.Background(), "user:ann", "viewer", "document:plan")
	var late *TimeoutError
	if !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the database is away") {
		t.Errorf("%v", err)
	}
}

func TestAWriteKeepsItsIdempotencyKey(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]int{}
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := r.Header.Get("Idempotency-Key")
		keys[name]++
		if keys[name] < 3 {
			answerWith(502, `<html>`)(w, r)
			return
		}
		answerWith(200, `{"created":1,"deleted":0,"unchanged":0}`)(w, r)
	})
	for range 2 {
		result, err := client.Write(context.Background(), Create("document:plan#viewer@user:ann"))
		if err != nil || result.Created != 1 {
			t.Fatalf("%v, %v", result, err)
		}
	}
	if _, err := client.Write(context.Background(), Create("document:plan"), IdempotencyKey("mine")); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 3 || keys["mine"] != 3 {
		t.Errorf("%v", keys)
	}
	if _, err := client.Write(context.Background(), Create("document:plan"), IdempotencyKey("two words")); err == nil {
		t.Error("a key with a blank was sent")
	}
}

func TestAListThatDoesNotGoOnEnds(t *testing.T) {
	client := serve(t, answerWith(200, `{"results":[],"nextCursor":"same"}`))
	var last error
	for _, err := range client.Warrants(context.Background(), WarrantFilter{}) {
		last = err
	}
	if last == nil {
		t.Error("there was no error")
	}
}

func TestNamesThatWouldChangeAQueryAreNotSent(t *testing.T) {
	client := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, given := range [][3]string{
		{"user:ann", "viewer, owner", "document"}, {"user:ann", "*", "document"}, {"user:ann", "viewer", "*"},
		{"user:ann", "viewer", "document, folder"}, {`user:ann" is viewer`, "viewer", "document"},
		{"user, x:ann", "viewer", "document"}, {"ann", "viewer", "document"}, {"team:eng#member", "viewer", "document"},
		{"user:ann", "viewer", "team#member"}, {"user:ann", "", "document"},
	} {
		for object, err := range client.Objects(context.Background(), given[0], given[1], given[2]) {
			var argument *ArgumentError
			if !errors.As(err, &argument) {
				t.Errorf("%v: %q, %v", given, object, err)
			}
		}
	}
}

func TestAClientIsSafeInGoroutines(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := `{"code":200,"result":"Authorized"}`
		if r.URL.Path == "/v2/writes" {
			body = `{"created":1,"deleted":0,"unchanged":0}`
		}
		answerWith(200, body, "Service-Token", tokenOf("store", uint64(time.Now().UnixNano())))(w, r)
	})
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 20 {
				before := client.Token()
				if _, err := client.Check(context.Background(), "user:ann", "viewer", "document:plan"); err != nil {
					t.Error(err)
				}
				if _, err := client.Write(context.Background(), Create("document:plan")); err != nil {
					t.Error(err)
				}
				if precedes(client.Token(), before) {
					t.Error("the token is older than before")
				}
				client.At(before).Token()
			}
		}()
	}
	group.Wait()
}
