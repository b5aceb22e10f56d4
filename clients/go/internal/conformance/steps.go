package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	magistrate "magistrate.example/clients/go"
)

// step is one call with what belongs to it.
type step struct {
	members map[string]json.RawMessage
	tokens  map[string]string
}

func (s *step) text(name string) string {
	var text string
	if s.members[name] != nil {
		exitOn(json.Unmarshal(s.members[name], &text))
	}
	return text
}

// arguments has the members of all calls.
type arguments struct {
	Subject      string            `json:"subject"`
	Relation     string            `json:"relation"`
	Object       string            `json:"object"`
	Type         string            `json:"type"`
	Context      map[string]any    `json:"context"`
	With         []string          `json:"with"`
	AsOf         string            `json:"as_of"`
	Strict       *bool             `json:"strict"`
	Explain      bool              `json:"explain"`
	PageSize     int               `json:"page_size"`
	Checks       [][3]string       `json:"checks"`
	Repeat       [3]string         `json:"repeat"`
	Times        int               `json:"times"`
	Create       []json.RawMessage `json:"create"`
	Delete       []string          `json:"delete"`
	Conditions   []condition       `json:"preconditions"`
	ObjectType   string            `json:"object_type"`
	ObjectID     string            `json:"object_id"`
	SubjectType  string            `json:"subject_type"`
	SubjectID    string            `json:"subject_id"`
	SubjectGroup string            `json:"subject_relation"`
	Text         string            `json:"text"`
	Expected     string            `json:"expected"`
	From         string            `json:"from"`
	To           string            `json:"to"`
	Of           []string          `json:"of"`
	Since        string            `json:"since"`
	Snapshot     bool              `json:"snapshot"`
	ObjectTypes  []string          `json:"object_types"`
	Relations    []string          `json:"relations"`
	SubjectTypes []string          `json:"subject_types"`
	Events       int               `json:"events"`
}

type condition struct {
	Exists   string `json:"exists"`
	Absent   string `json:"absent"`
	Revision string `json:"revision"`
}

type caller func(*step, context.Context, *magistrate.Client, arguments) (any, error)

var callers = map[string]caller{
	"check": (*step).check, "check_many": (*step).checkMany, "require": (*step).require, "explain": (*step).explain,
	"objects": (*step).objects, "subjects": (*step).subjects, "write": (*step).write, "warrants": (*step).warrants,
	"model": (*step).model, "write_model": (*step).writeModel, "difference": (*step).difference,
	"watch": (*step).watch, "access": (*step).access,
}

func (s *step) call(ctx context.Context, client *magistrate.Client) (any, error) {
	for name, make := range callers {
		if content := s.members[name]; content != nil {
			var given arguments
			if err := json.Unmarshal(content, &given); err != nil {
				return nil, err
			}
			return make(s, ctx, client, given)
		}
	}
	return nil, errors.New("a step has an unknown call")
}

func (s *step) options(given arguments) []magistrate.CallOption {
	options := []magistrate.CallOption{magistrate.WithContext(given.Context), magistrate.WithWarrants(given.With...)}
	if given.AsOf != "" {
		options = append(options, magistrate.WithAsOf(s.tokens[given.AsOf]))
	}
	if given.Strict != nil {
		options = append(options, magistrate.WithStrict(*given.Strict))
	}
	if given.PageSize != 0 {
		options = append(options, magistrate.WithPageSize(given.PageSize))
	}
	if given.Explain {
		options = append(options, magistrate.WithExplanation())
	}
	return options
}

func (s *step) check(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	return client.Check(ctx, given.Subject, given.Relation, given.Object, s.options(given)...)
}

func (s *step) checkMany(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	checks := given.Checks
	for range given.Times {
		checks = append(checks, given.Repeat)
	}
	built := make([]magistrate.Check, len(checks))
	for i, check := range checks {
		built[i] = magistrate.Check{Subject: check[0], Relation: check[1], Object: check[2]}
	}
	return client.CheckMany(ctx, built, s.options(given)...)
}

func (s *step) require(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	return nil, client.Require(ctx, given.Subject, given.Relation, given.Object, s.options(given)...)
}

func (s *step) explain(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	explained, err := client.Explain(ctx, given.Subject, given.Relation, given.Object, s.options(given)...)
	if err != nil {
		return nil, err
	}
	suggestions := []map[string]any{}
	for _, suggestion := range explained.WouldAllow {
		suggestions = append(suggestions, map[string]any{
			"create": write(suggestion.Create), "delete": write(suggestion.Delete),
		})
	}
	return map[string]any{
		"allowed": explained.Allowed(), "path": write(explained.Path), "would_allow": suggestions,
	}, nil
}

func (s *step) objects(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	return collect(client.Objects(ctx, given.Subject, given.Relation, given.Type, s.options(given)...))
}

func (s *step) subjects(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	return collect(client.Subjects(ctx, given.Object, given.Relation, given.Type, s.options(given)...))
}

func (s *step) write(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	changes := []magistrate.Change{magistrate.Delete(given.Delete...)}
	for _, content := range given.Create {
		change, err := readCreation(content)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	for _, demanded := range given.Conditions {
		switch {
		case demanded.Exists != "":
			changes = append(changes, magistrate.IfExists(demanded.Exists))
		case demanded.Absent != "":
			changes = append(changes, magistrate.IfAbsent(demanded.Absent))
		default:
			changes = append(changes, magistrate.IfRevision(s.tokens[demanded.Revision]))
		}
	}
	result, err := client.Write(ctx, changes...)
	return result, err
}

// readCreation reads what is to be created: a text, a warrant with time limits, or an object with a meta.
func readCreation(content json.RawMessage) (magistrate.Change, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return magistrate.Create(text), nil
	}
	var read struct {
		Warrant   string         `json:"warrant"`
		StartsAt  time.Time      `json:"starts_at"`
		ExpiresAt time.Time      `json:"expires_at"`
		Object    string         `json:"object"`
		Meta      map[string]any `json:"meta"`
	}
	if err := json.Unmarshal(content, &read); err != nil {
		return nil, err
	}
	if read.Object != "" {
		ref, err := magistrate.ParseRef(read.Object)
		return magistrate.CreateObjects(magistrate.Object{Ref: ref, Meta: read.Meta}), err
	}
	warrant, err := magistrate.ParseWarrant(read.Warrant)
	warrant.StartsAt, warrant.ExpiresAt = read.StartsAt, read.ExpiresAt
	return magistrate.CreateWarrants(warrant), err
}

func (s *step) warrants(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	return collect(client.Warrants(ctx, magistrate.WarrantFilter{
		ObjectType: given.ObjectType, ObjectID: given.ObjectID, Relation: given.Relation,
		SubjectType: given.SubjectType, SubjectID: given.SubjectID, SubjectRelation: given.SubjectGroup,
	}, s.options(given)...))
}

func (s *step) model(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	return client.Model(ctx, s.options(given)...)
}

func (s *step) writeModel(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	return client.WriteModel(ctx, given.Text, s.tokens[given.Expected])
}

func (s *step) difference(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	query := magistrate.DifferenceQuery{
		From: s.tokens[given.From], To: s.tokens[given.To], Delete: given.Delete,
		Of: given.Of, Subject: given.Subject, Object: given.Object,
	}
	for _, content := range given.Create {
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, err
		}
		query.Create = append(query.Create, text)
	}
	rows := []map[string]any{}
	for row, err := range client.Difference(ctx, query, s.options(given)...) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, map[string]any{
			"change": row.Change, "access": row.String(), "conditional": row.Conditional,
		})
	}
	return rows, nil
}

func (s *step) watch(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	events := []map[string]any{}
	for event, err := range client.Watch(ctx, magistrate.WatchQuery{
		Since: s.tokens[given.Since], Snapshot: given.Snapshot,
		ObjectTypes: given.ObjectTypes, Relations: given.Relations, SubjectTypes: given.SubjectTypes,
	}) {
		if err != nil {
			return nil, err
		}
		if event.Type != magistrate.Revision {
			continue
		}
		events = append(events, map[string]any{
			"created": write(event.Warrants.Created), "deleted": write(event.Warrants.Deleted),
		})
		if len(events) == given.Events {
			break
		}
	}
	return events, nil
}

func (s *step) access(ctx context.Context, client *magistrate.Client, given arguments) (any, error) {
	events := []map[string]any{}
	for event, err := range client.Access(ctx, magistrate.AccessQuery{
		Of: given.Of, Subject: given.Subject, Object: given.Object,
		Since: s.tokens[given.Since], Snapshot: given.Snapshot,
	}) {
		if err != nil {
			return nil, err
		}
		if event.Type != magistrate.AccessChanged {
			continue
		}
		events = append(events, map[string]any{"gained": write(event.Gained), "lost": write(event.Lost)})
		if len(events) == given.Events {
			break
		}
	}
	return events, nil
}

// write returns warrants, or rows of access, in written form.
func write[Row fmt.Stringer](rows []Row) []string {
	written := make([]string, len(rows))
	for i, row := range rows {
		written[i] = row.String()
	}
	return written
}

// collect returns all rows, in written form.
func collect[Row any](rows iter.Seq2[Row, error]) ([]string, error) {
	written := []string{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		written = append(written, fmt.Sprint(row))
	}
	return written, nil
}
