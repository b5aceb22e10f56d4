package magistrate

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strings"
	"time"
)

// EventType is what an event of a feed is about.
type EventType string

const (
	// Checkpoint says that everything up to its token was sent.
	Checkpoint EventType = "checkpoint"
	// Revision is a write, in [Client.Watch].
	Revision EventType = "revision"
	// AccessChanged is access that was gained or lost, in [Client.Access].
	AccessChanged EventType = "access"
	// Snapshot has a part of the state that a feed begins with.
	Snapshot EventType = "snapshot"
)

// Position is what all events of feeds have.
type Position struct {
	// Type says which members the event has.
	Type EventType
	// Since is what to pass as Since of the query to go on behind this event. It is empty within a snapshot.
	Since string
	// Token is the revision of the event; that of a snapshot is in the checkpoint behind it.
	Token string
	// Time is when the revision was reached.
	Time time.Time
	// BeginsSnapshot is true for the first event of a snapshot: discard what was read before. A snapshot begins again
	// if its connection was lost. If there is nothing in the state, the event is a checkpoint.
	BeginsSnapshot bool
}

// WatchQuery selects what [Client.Watch] yields.
type WatchQuery struct {
	// Since is the token to go on from. If it is empty, the feed begins now.
	Since string
	// Snapshot sends the state first, unless there is a Since.
	Snapshot bool
	// ObjectTypes, Relations and SubjectTypes select rows that have one of these, all if they are empty.
	ObjectTypes, Relations, SubjectTypes []string
}

// Event is an event of [Client.Watch].
type Event struct {
	Position
	// Actor and RequestID say who made the write, if it is known.
	Actor, RequestID string
	// Warrants, Objects, ObjectTypes and Policies are what a revision changed. To keep a copy, apply Deleted and Expired
	// before Created and Updated.
	Warrants    WarrantChanges
	Objects     Changes[ObjectRow]
	ObjectTypes Changes[json.RawMessage]
	Policies    Changes[json.RawMessage]
	// State is a part of the state, in an event of a snapshot.
	State State
}

// WarrantChanges are the warrants that a write changed. One that gets other time limits is in Created.
type WarrantChanges struct {
	Created []Warrant `json:"created"`
	Deleted []Warrant `json:"deleted"`
	Expired []Warrant `json:"expired"`
}

// Changes are the rows that a write changed.
type Changes[Row any] struct {
	Created []Row `json:"created"`
	Updated []Row `json:"updated"`
	Deleted []Row `json:"deleted"`
}

// ObjectRow is an object of a feed; one that was deleted has no meta.
type ObjectRow struct {
	Ref
	Meta map[string]any `json:"meta"`
}

// State has rows of one kind, at most 500.
type State struct {
	Warrants    []Warrant         `json:"warrants"`
	Objects     []ObjectRow       `json:"objects"`
	ObjectTypes []json.RawMessage `json:"objectTypes"`
	Policies    []json.RawMessage `json:"policies"`
}

type revisionJSON struct {
	Actor       string                   `json:"actor"`
	RequestID   string                   `json:"requestId"`
	Warrants    WarrantChanges           `json:"warrants"`
	Objects     Changes[ObjectRow]       `json:"objects"`
	ObjectTypes Changes[json.RawMessage] `json:"objectTypes"`
	Policies    Changes[json.RawMessage] `json:"policies"`
}

// Watch yields what is written to the store while it happens (docs/watch.md): one event for each write, in order, each
// once, and checkpoints between them. It goes on by itself after a lost connection and a restart of the service, and
// ends when its context does, or with an error that another connection would not change. WithRetries limits how often
// it connects without getting an event.
func (c *Client) Watch(ctx context.Context, query WatchQuery) iter.Seq2[*Event, error] {
	parameters := url.Values{
		"objectType": query.ObjectTypes, "relation": query.Relations, "subjectType": query.SubjectTypes,
	}
	start := place{since: query.Since, isSnapshot: query.Snapshot}
	return follow(ctx, c, "/v2/watch", parameters, start, func(position Position, line []byte) (*Event, error) {
		event := &Event{Position: position}
		switch position.Type {
		case Revision:
			var read revisionJSON
			if err := json.Unmarshal(line, &read); err != nil {
				return nil, err
			}
			event.Actor, event.RequestID = read.Actor, read.RequestID
			event.Warrants, event.Objects = read.Warrants, read.Objects
			event.ObjectTypes, event.Policies = read.ObjectTypes, read.Policies
		case Snapshot:
			if err := json.Unmarshal(line, &event.State); err != nil {
				return nil, err
			}
		}
		return event, nil
	})
}

// AccessQuery selects what [Client.Access] yields.
type AccessQuery struct {
	// Of selects access, such as "document#viewer@user"; it is required.
	Of []string
	// Subject and Object select the access of one subject, and to one object.
	Subject, Object string
	// Since is the Since of the event to go on from, or a token. If it is empty, the feed begins now.
	Since string
	// Snapshot sends all access first, unless there is a Since.
	Snapshot bool
}

// AccessEvent is an event of [Client.Access].
type AccessEvent struct {
	Position
	// Gained and Lost are what a write or a moment changed. To keep a copy, apply Lost before Gained.
	Gained []AccessRow
	Lost   []AccessRow
	// Resync says that too much changed to be sent: begin again with a snapshot.
	Resync bool
	// Access is a part of all access, in an event of a snapshot.
	Access []AccessRow
}

// Access yields who gains and who loses access, whatever causes it (docs/watch.md#the-effective-feed). It goes on by
// itself like [Client.Watch].
func (c *Client) Access(ctx context.Context, query AccessQuery) iter.Seq2[*AccessEvent, error] {
	parameters := url.Values{}
	setUnlessEmpty(parameters, "of", strings.Join(query.Of, ","))
	setUnlessEmpty(parameters, "subject", query.Subject)
	setUnlessEmpty(parameters, "object", query.Object)
	start := place{since: query.Since, isSnapshot: query.Snapshot}
	return follow(ctx, c, "/v2/watch/access", parameters, start, func(position Position, line []byte) (*AccessEvent, error) {
		var read struct {
			Gained []AccessRow     `json:"gained"`
			Lost   []AccessRow     `json:"lost"`
			Resync json.RawMessage `json:"resync"`
			Access []AccessRow     `json:"access"`
		}
		if err := json.Unmarshal(line, &read); err != nil {
			return nil, err
		}
		return &AccessEvent{
			Position: position, Gained: read.Gained, Lost: read.Lost, Resync: read.Resync != nil, Access: read.Access,
		}, nil
	})
}
