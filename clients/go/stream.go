package magistrate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"time"
)

const (
	linesType = "application/x-ndjson"
	// maxSilence limits how long a feed may be silent; the service sends something every 15 seconds.
	maxSilence = 60 * time.Second
	// maxLineBytes limits an event (256 MiB): an import of many warrants is one.
	maxLineBytes = 256 << 20
)

// endings maps the reasons by which the service ends a feed for good to the codes of their errors. Others, such as a
// shutdown, are no reason not to connect again.
var endings = map[string]code{
	"key_ended":       ErrUnauthorized,
	"store_restored":  ErrRevisionLost,
	"store_deleted":   ErrNotFound,
	"revision_lost":   ErrRevisionLost,
	"not_retained":    ErrGone,
	"budget_exceeded": ErrBudgetSpent,
}

// place is where a feed goes on.
type place struct {
	// since is the id or token of the last event, empty if there was none or it was one of a snapshot.
	since string
	// isSnapshot says that the state comes first.
	isSnapshot bool
	// hasBegun says that this snapshot has had an event.
	hasBegun bool
}

// frame has the members that all events may have.
type frame struct {
	Event  EventType `json:"event"`
	ID     string    `json:"id"`
	Token  string    `json:"token"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
}

const endEvent EventType = "end"

// errStopped says that whoever reads the events wants no more.
var errStopped = errors.New("stopped")

// errEnded says that the service ended the feed, which goes on with another connection.
var errEnded = &ConnectionError{Err: errors.New("the service ended the feed")}

// follow yields the events of a feed, over as many connections as it takes.
func follow[E any](
	ctx context.Context, c *Client, path string, parameters url.Values, at place,
	read func(position Position, line []byte) (E, error),
) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var none E
		at := at
		for failures := 0; ; failures++ {
			err := c.stream(ctx, path, at.parameters(parameters), func(line []byte) error {
				position, err := at.advance(line)
				if err != nil {
					return err
				}
				event, err := read(position, line)
				if err != nil {
					return errForeign
				}
				c.session.remember(position.Token)
				failures = -1 // the attempt behind this connection is the first one
				if !yield(event, nil) {
					return errStopped
				}
				return nil
			})
			if err == errStopped {
				return
			}
			if err = c.awaitNext(ctx, err, failures); err != nil {
				yield(none, err)
				return
			}
			at.hasBegun = false
		}
	}
}

// parameters returns those of the request that goes on there.
func (p *place) parameters(selected url.Values) url.Values {
	parameters := maps.Clone(selected)
	switch {
	case p.since != "":
		parameters.Set("since", p.since)
	case p.isSnapshot:
		parameters.Set("snapshot", "true")
	}
	return parameters
}

// advance returns the position of an event, and goes on behind it. The end of a feed is an error.
func (p *place) advance(line []byte) (Position, error) {
	var read frame
	if err := json.Unmarshal(line, &read); err != nil || read.Event == "" {
		return Position{}, errForeign
	}
	if read.Event == endEvent {
		if name, isFinal := endings[read.Reason]; isFinal {
			return Position{}, &Error{Code: string(name), Message: "the service ended the feed: " + read.Reason}
		}
		return Position{}, errEnded
	}
	position := Position{Type: read.Event, Token: read.Token, Time: read.Time}
	position.BeginsSnapshot = p.isSnapshot && p.since == "" && !p.hasBegun
	p.hasBegun = true
	if read.Event != Snapshot {
		p.since = read.ID
		if p.since == "" {
			p.since = read.Token
		}
		position.Since = p.since
	}
	return position, nil
}

// awaitNext waits until the next connection may be made. It returns the error if there is none to be made.
func (c *Client) awaitNext(ctx context.Context, err error, failures int) error {
	if ctx.Err() != nil {
		return fmt.Errorf("magistrate: %w", ctx.Err())
	}
	var late *TimeoutError
	if !errors.As(err, &late) && !canRepeat(request{isRead: true}, err) {
		return err
	}
	pause := choosePause(err, max(failures, 0))
	if failures >= c.retries || pause >= c.timeout {
		return err
	}
	if wait(ctx, pause) != nil {
		return fmt.Errorf("magistrate: %w", ctx.Err())
	}
	return nil
}

// stream reads one connection of a feed to its end, which is always an error. Connecting takes no longer than a call.
func (c *Client) stream(ctx context.Context, path string, parameters url.Values, take func([]byte) error) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := time.AfterFunc(c.timeout, cancel)
	defer limit.Stop()
	sent := request{method: "GET", path: path, query: parameters, accept: linesType, isRead: true}
	token := c.chooseToken(sent)
	response, err := c.open(within, sent, nil, token)
	if err != nil {
		if within.Err() != nil && ctx.Err() == nil {
			return &TimeoutError{Timeout: c.timeout}
		}
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		if err != nil {
			return &ConnectionError{Err: hideURL(err)}
		}
		return c.refuse(response, body, sent, token)
	}
	limit.Stop()
	c.session.remember(response.Header.Get(tokenHeader))
	return readLines(&watchedReader{response.Body, limit, maxSilence}, take)
}

// watchedReader ends a read that takes longer than a feed may be silent. The time between reads does not count, which is
// that of whoever processes the events.
type watchedReader struct {
	io.Reader
	limit   *time.Timer
	silence time.Duration
}

// Read reads what is there, or waits for it as long as a feed may be silent.
func (r *watchedReader) Read(buffer []byte) (int, error) {
	r.limit.Reset(r.silence)
	defer r.limit.Stop()
	return r.Reader.Read(buffer)
}

// readLines passes on each complete line. A part of a line at the end is of an event that will come again.
func readLines(from io.Reader, take func([]byte) error) error {
	reader := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		switch {
		case err == nil:
			complete := part
			if len(line) > 0 {
				line = append(line, part...)
				complete = line
			}
			if len(bytes.TrimSpace(complete)) > 0 {
				if err := take(complete); err != nil {
					return err
				}
			}
			line = line[:0]
			if cap(line) > maxAnswerBytes {
				line = nil
			}
		case errors.Is(err, bufio.ErrBufferFull):
			line = append(line, part...)
			if len(line) > maxLineBytes {
				return &ConnectionError{Err: errors.New("an event is larger than 256 MiB")}
			}
		default:
			return &ConnectionError{Err: hideURL(err)}
		}
	}
}
