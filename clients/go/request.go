package magistrate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	tokenHeader       = "Service-Token"
	idempotencyHeader = "Idempotency-Key"
	jsonType          = "application/json"
	textType          = "text/plain"
	// maxAnswerBytes limits an answer in memory (64 MiB); the largest page has 1,000 rows.
	maxAnswerBytes = 64 << 20
	// firstPause and maxPause limit the pauses before a request is repeated.
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
)

// request is one request of the API.
type request struct {
	method, path string
	query        url.Values
	// body is sent as JSON unless it is nil, and text instead of it unless that is empty.
	body any
	text string
	// accept is the media type that is wanted; JSON unless given.
	accept string
	// isRead says that the request takes a token. All reads are repeated, and writes with an idempotency key.
	isRead         bool
	idempotencyKey string
	// token is that of the options of the call.
	token string
}

// encode returns the body, nil if there is none.
func (r *request) encode() ([]byte, error) {
	if r.text != "" {
		return []byte(r.text), nil
	}
	if r.body == nil {
		return nil, nil
	}
	content, err := json.Marshal(r.body)
	if err != nil {
		return nil, invalid("context", "it cannot be written as JSON: %v", err)
	}
	return content, nil
}

type answer struct {
	token string
	body  []byte
}

// callJSON sends the request and reads the answer into result.
func (c *Client) callJSON(ctx context.Context, r request, result any) error {
	_, err := c.call(ctx, r, func(body []byte) error { return json.Unmarshal(body, result) })
	return err
}

// call sends the request until it is answered, and returns the answer once read accepts it.
func (c *Client) call(ctx context.Context, r request, read func([]byte) error) (answer, error) {
	content, err := r.encode()
	if err != nil {
		return answer{}, err
	}
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var last error
	for attempt := 0; ; attempt++ {
		received, err := c.attempt(within, r, content, read)
		if err == nil {
			return received, nil
		}
		if within.Err() != nil {
			return answer{}, c.explainEnd(ctx, last)
		}
		pause := choosePause(err, attempt)
		deadline, _ := within.Deadline()
		if !canRepeat(r, err) || attempt >= c.retries || time.Until(deadline) <= pause {
			return answer{}, err
		}
		last = err
		if wait(within, pause) != nil {
			return answer{}, c.explainEnd(ctx, last)
		}
	}
}

// explainEnd returns the error of a call whose time is over: because the caller's context ended it, or because of the
// client's own timeout.
func (c *Client) explainEnd(ctx context.Context, last error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("magistrate: %w", err)
	}
	if deadline, has := ctx.Deadline(); has && time.Until(deadline) <= 0 {
		return fmt.Errorf("magistrate: %w", context.DeadlineExceeded)
	}
	return &TimeoutError{Timeout: c.timeout, Last: last}
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt sends the request once.
func (c *Client) attempt(ctx context.Context, r request, content []byte, read func([]byte) error) (answer, error) {
	token := c.chooseToken(r)
	response, err := c.open(ctx, r, content, token)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return answer{}, &ConnectionError{Err: hideURL(err)}
	}
	if len(body) > maxAnswerBytes {
		return answer{}, errForeign
	}
	if response.StatusCode != http.StatusOK {
		return answer{}, c.refuse(response, body, r, token)
	}
	if err := read(body); err != nil {
		return answer{}, errForeign
	}
	received := answer{token: response.Header.Get(tokenHeader), body: body}
	c.session.remember(received.token)
	return received, nil
}

// open sends the request and returns the answer with its body unread.
func (c *Client) open(ctx context.Context, r request, content []byte, token string) (*http.Response, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body io.Reader
	if content != nil {
		body = bytes.NewReader(content)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, invalid("url", "no request can be made of it")
	}
	sent.GetBody = nil // net/http would repeat some requests by itself, whatever the limit of retries
	accept := r.accept
	if accept == "" {
		accept = jsonType
	}
	sent.Header.Set("Accept", accept)
	if accept == linesType {
		sent.Header.Set("Accept-Encoding", "identity") // what compresses a feed holds events back
	}
	sent.Header.Set("User-Agent", "magistrate-go/"+Version)
	switch {
	case r.text != "":
		sent.Header.Set("Content-Type", textType)
	case content != nil:
		sent.Header.Set("Content-Type", jsonType)
	}
	if c.key != "" {
		scheme := "ApiKey "
		if c.isBearer {
			scheme = "Bearer "
		}
		sent.Header.Set("Authorization", scheme+c.key)
	}
	if token != "" {
		sent.Header.Set(tokenHeader, token)
	}
	if r.idempotencyKey != "" {
		sent.Header.Set(idempotencyHeader, r.idempotencyKey)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return nil, &ConnectionError{Err: hideURL(err)}
	}
	return response, nil
}

func (c *Client) chooseToken(r request) string {
	switch {
	case !r.isRead:
		return ""
	case r.token != "":
		return r.token
	case c.consistency == Latest:
		return "latest"
	case c.consistency == Session:
		return c.session.get()
	}
	return ""
}

// hideURL returns the error without the URL, whose parameters may be private.
func hideURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// refuse returns the error of an answer, and discards the session's token if it is the reason.
func (c *Client) refuse(response *http.Response, body []byte, r request, token string) error {
	refused := readError(response, body)
	isOfToken := refused.Code == string(ErrRevisionLost) || refused.Parameter == tokenHeader
	if isOfToken && r.token == "" && token != "" {
		c.session.discard(token)
	}
	return refused
}

// errForeign is an answer with the status 200 that is not one of ours, or is not complete.
var errForeign = &ConnectionError{Err: errors.New("what answers there is not Magistrate")}

// readError returns the error of an answer that is not 200.
func readError(response *http.Response, body []byte) *Error {
	delay, saysWhen := readRetryAfter(response.Header.Get("Retry-After"), time.Now())
	refused := &Error{
		Status: response.StatusCode, Message: "what answers there is not Magistrate",
		RequestID: response.Header.Get("Warrant-Request-Id"), RetryAfter: delay, saysWhen: saysWhen,
	}
	var details map[string]any
	if json.Unmarshal(body, &details) != nil {
		return refused
	}
	name, hasCode := details["code"].(string)
	message, hasMessage := details["message"].(string)
	if !hasCode || !hasMessage {
		return refused
	}
	refused.Code, refused.Message = name, message
	refused.Parameter, _ = details["parameter"].(string)
	for _, member := range []string{"code", "message", "parameter"} {
		delete(details, member)
	}
	refused.Details = details
	return refused
}

// readRetryAfter returns how long the header says to wait, seconds or until a time, and whether it says so.
func readRetryAfter(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(math.MaxInt64/time.Second))) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// choosePause returns how long to wait before the request is repeated: as long as the service says, or longer with each
// attempt, at random, because callers that failed together must not come back together.
func choosePause(err error, attempt int) time.Duration {
	var refused *Error
	if errors.As(err, &refused) && refused.saysWhen {
		return refused.RetryAfter
	}
	limit := min(firstPause<<min(attempt, 16), maxPause)
	return limit/2 + mathrand.N(limit/2)
}

// canRepeat reports whether the same request may be answered later. One that exceeds its budget would do so again, and
// a service that only reads never writes.
func canRepeat(r request, err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		isBusy := refused.Status == http.StatusTooManyRequests // the request was not begun
		switch refused.Status {
		case http.StatusBadGateway, http.StatusGatewayTimeout:
			return r.isRead || r.idempotencyKey != ""
		case http.StatusServiceUnavailable:
			return (refused.Code == string(ErrUnavailable) || refused.Code == "") && (r.isRead || r.idempotencyKey != "")
		}
		return isBusy
	}
	var lost *ConnectionError
	if !errors.As(err, &lost) || lost == errForeign {
		return false
	}
	return r.isRead || r.idempotencyKey != "" || isUnsent(lost)
}

// isUnsent reports whether no connection was made, so that nothing of the request was sent.
func isUnsent(lost *ConnectionError) bool {
	var dialed *net.OpError
	return errors.As(lost.Err, &dialed) && dialed.Op == "dial"
}

// newIdempotencyKey returns a key for one call.
func newIdempotencyKey() string {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(err) // the system has no random numbers
	}
	return hex.EncodeToString(random[:])
}
