package magistrate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Object is an object to create, or whose meta is replaced, by [CreateObjects].
type Object struct {
	Ref  Ref
	Meta map[string]any
}

// WriteResult counts the elements of a write.
type WriteResult struct {
	// Created counts those that created or replaced something.
	Created int `json:"created"`
	// Deleted counts those that deleted something.
	Deleted int `json:"deleted"`
	// Unchanged counts those that changed nothing.
	Unchanged int `json:"unchanged"`
}

// Change is a part of a write: something to create or delete, a precondition, or an idempotency key.
type Change func(*writeBody) error

type writeBody struct {
	Preconditions []precondition `json:"preconditions,omitempty"`
	Delete        struct {
		Warrants []Warrant `json:"warrants,omitempty"`
		Objects  []Ref     `json:"objects,omitempty"`
	} `json:"delete"`
	Create struct {
		Warrants []Warrant    `json:"warrants,omitempty"`
		Objects  []objectJSON `json:"objects,omitempty"`
	} `json:"create"`

	idempotencyKey string
}

type objectJSON struct {
	Type string         `json:"objectType"`
	ID   string         `json:"objectId"`
	Meta map[string]any `json:"meta,omitempty"`
}

type precondition struct {
	Exists   any    `json:"exists,omitempty"`
	Absent   any    `json:"absent,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// parseItem returns the Warrant, or the Ref of an object, that a text stands for: no object has a "#". It returns nil
// with an error.
func parseItem(parameter, text string) (any, error) {
	if strings.Contains(text, "#") {
		warrant, err := parseWarrant(parameter, text)
		if err != nil {
			return nil, err
		}
		return warrant, nil
	}
	object, err := parseObject(parameter, text)
	if err != nil {
		return nil, err
	}
	return object, nil
}

// Create creates what these texts name: warrants, such as "document:plan#viewer@user:ann", and objects, such as
// "document:plan".
func Create(written ...string) Change {
	return func(b *writeBody) error {
		for _, text := range written {
			switch item, err := parseItem("create", text); item := item.(type) {
			case Warrant:
				b.Create.Warrants = append(b.Create.Warrants, item)
			case Ref:
				b.Create.Objects = append(b.Create.Objects, objectJSON{Type: item.Type, ID: item.ID})
			default:
				return err
			}
		}
		return nil
	}
}

// CreateWarrants creates warrants, which may have time limits. A warrant that exists gets these limits.
func CreateWarrants(warrants ...Warrant) Change {
	return func(b *writeBody) error {
		b.Create.Warrants = append(b.Create.Warrants, warrants...)
		return nil
	}
}

// CreateObjects creates objects, or replaces their meta.
func CreateObjects(objects ...Object) Change {
	return func(b *writeBody) error {
		for _, object := range objects {
			b.Create.Objects = append(
				b.Create.Objects, objectJSON{Type: object.Ref.Type, ID: object.Ref.ID, Meta: object.Meta})
		}
		return nil
	}
}

// Delete deletes what these texts name: warrants and objects, written as for [Create]. All of it must exist.
func Delete(written ...string) Change {
	return func(b *writeBody) error {
		for _, text := range written {
			switch item, err := parseItem("delete", text); item := item.(type) {
			case Warrant:
				b.Delete.Warrants = append(b.Delete.Warrants, item)
			case Ref:
				b.Delete.Objects = append(b.Delete.Objects, item)
			default:
				return err
			}
		}
		return nil
	}
}

// DeleteWarrants deletes warrants. Their time limits do not matter.
func DeleteWarrants(warrants ...Warrant) Change {
	return func(b *writeBody) error {
		b.Delete.Warrants = append(b.Delete.Warrants, warrants...)
		return nil
	}
}

// IfExists demands that a warrant or an object exists before the write.
func IfExists(written string) Change {
	return func(b *writeBody) error {
		item, err := parseItem("preconditions", written)
		b.Preconditions = append(b.Preconditions, precondition{Exists: item})
		return err
	}
}

// IfAbsent demands that a warrant or an object does not exist before the write.
func IfAbsent(written string) Change {
	return func(b *writeBody) error {
		item, err := parseItem("preconditions", written)
		b.Preconditions = append(b.Preconditions, precondition{Absent: item})
		return err
	}
}

// IfRevision demands that nothing at all was written since the answer that the token comes from.
func IfRevision(token string) Change {
	return func(b *writeBody) error {
		b.Preconditions = append(b.Preconditions, precondition{Revision: token})
		return nil
	}
}

// IdempotencyKey replaces the key that [Client.Write] makes: a write that is repeated with the same key, also by another
// process within 24 hours, is made once and has the same answer. It has 1 to 255 printable characters of ASCII.
func IdempotencyKey(key string) Change {
	return func(b *writeBody) error {
		b.idempotencyKey = key
		return nil
	}
}

// Write makes all changes in one revision, or none: 1 to 1,000 elements, deletions first, if all preconditions hold.
//
//	_, err := client.Write(ctx,
//		magistrate.Delete("document:plan#owner@user:ann"),
//		magistrate.Create("document:plan#owner@user:bob"),
//		magistrate.IfExists("document:plan#owner@user:ann"))
func (c *Client) Write(ctx context.Context, changes ...Change) (WriteResult, error) {
	body := writeBody{idempotencyKey: newIdempotencyKey()}
	for _, change := range changes {
		if err := change(&body); err != nil {
			return WriteResult{}, err
		}
	}
	if !isIdempotencyKey(body.idempotencyKey) {
		return WriteResult{}, invalid("idempotency key", "it must be 1 to 255 printable ASCII characters, no blanks")
	}
	var result WriteResult
	_, err := c.call(ctx, request{
		method: "POST", path: "/v2/writes", body: body, idempotencyKey: body.idempotencyKey,
	}, func(content []byte) error {
		var counted struct{ Created, Deleted, Unchanged *int }
		if err := json.Unmarshal(content, &counted); err != nil {
			return err
		}
		if counted.Created == nil || counted.Deleted == nil || counted.Unchanged == nil {
			return errors.New("the counts are missing")
		}
		result = WriteResult{Created: *counted.Created, Deleted: *counted.Deleted, Unchanged: *counted.Unchanged}
		return nil
	})
	return result, err
}

func isIdempotencyKey(key string) bool {
	for i := range len(key) {
		if key[i] < '!' || key[i] > '~' {
			return false
		}
	}
	return len(key) >= 1 && len(key) <= 255
}
