package magistrate

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// Ref names an object, or a subject: an object, or with a Relation the userset of all that have this relation on it. ID
// may be "*" where a wildcard makes sense.
type Ref struct {
	Type     string `json:"objectType"`
	ID       string `json:"objectId"`
	Relation string `json:"relation,omitempty"`
}

var (
	writtenRef     = regexp.MustCompile(`(?s)^([^:#@\[]+):("[^"]*"|[^#\["]+)(?:#([^#\[]+))?$`)
	writtenWarrant = regexp.MustCompile(
		`(?s)^([^:#@\[]+):("[^"]*"|[^#\["]+)#([^:#@\[]+)@([^:#@\[]+):("[^"]*"|[^#\["]+)(?:#([^#\[]+))?(?:\[(.+)\])?$`)
	// queryName is a name that means nothing else in a query.
	queryName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// ParseRef parses "user:ann" or "team:eng#member". The type ends at the first colon; the id may be in double quotes.
func ParseRef(text string) (Ref, error) { return parseRef("ref", text) }

func parseRef(parameter, text string) (Ref, error) {
	parts := writtenRef.FindStringSubmatch(text)
	if parts == nil {
		return Ref{}, invalid(parameter, "%q does not read as type:id, with #relation behind it for a userset", text)
	}
	return Ref{Type: parts[1], ID: unquote(parts[2]), Relation: parts[3]}, nil
}

func parseObject(parameter, text string) (Ref, error) {
	ref, err := parseRef(parameter, text)
	if err == nil && ref.Relation != "" {
		err = invalid(parameter, "%q is a userset; write an object, as in document:plan", text)
	}
	return ref, err
}

// String returns the written form, which [ParseRef] parses.
func (r Ref) String() string {
	if r.Relation == "" {
		return r.Type + ":" + r.ID
	}
	return r.Type + ":" + r.ID + "#" + r.Relation
}

func unquote(id string) string {
	if len(id) > 1 && strings.HasPrefix(id, `"`) && strings.HasSuffix(id, `"`) {
		return id[1 : len(id)-1]
	}
	return id
}

// Warrant says that a subject has a relation on an object.
type Warrant struct {
	Object   Ref
	Relation string
	Subject  Ref
	// Policy is the condition under which the warrant counts; it is a part of the warrant's identity.
	Policy string
	// StartsAt and ExpiresAt limit when the warrant counts; the zero time is no limit.
	StartsAt, ExpiresAt time.Time
	// CreatedAt is set in answers only.
	CreatedAt time.Time
}

// ParseWarrant parses "document:plan#viewer@user:ann", perhaps with a policy in brackets behind it.
func ParseWarrant(text string) (Warrant, error) { return parseWarrant("warrant", text) }

func parseWarrant(parameter, text string) (Warrant, error) {
	parts := writtenWarrant.FindStringSubmatch(text)
	if parts == nil {
		return Warrant{}, invalid(
			parameter, "%q does not read as type:id#relation@type:id, with #relation behind it for a userset", text)
	}
	return Warrant{
		Object:   Ref{Type: parts[1], ID: unquote(parts[2])},
		Relation: parts[3],
		Subject:  Ref{Type: parts[4], ID: unquote(parts[5]), Relation: parts[6]},
		Policy:   parts[7],
	}, nil
}

// String returns the written form, which [ParseWarrant] parses. It does not have the time limits.
func (w Warrant) String() string {
	text := w.Object.Type + ":" + w.Object.ID + "#" + w.Relation + "@" + w.Subject.String()
	if w.Policy != "" {
		text += "[" + w.Policy + "]"
	}
	return text
}

type warrantJSON struct {
	Type      string     `json:"objectType"`
	ID        string     `json:"objectId"`
	Relation  string     `json:"relation"`
	Subject   Ref        `json:"subject"`
	Policy    string     `json:"policy,omitempty"`
	StartsAt  *time.Time `json:"startsAt,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
}

// MarshalJSON returns the form of the API.
func (w Warrant) MarshalJSON() ([]byte, error) {
	return json.Marshal(warrantJSON{
		Type: w.Object.Type, ID: w.Object.ID, Relation: w.Relation, Subject: w.Subject, Policy: w.Policy,
		StartsAt: timeOrNil(w.StartsAt), ExpiresAt: timeOrNil(w.ExpiresAt), CreatedAt: timeOrNil(w.CreatedAt),
	})
}

// UnmarshalJSON reads the form of the API.
func (w *Warrant) UnmarshalJSON(data []byte) error {
	var read warrantJSON
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*w = Warrant{
		Object: Ref{Type: read.Type, ID: read.ID}, Relation: read.Relation, Subject: read.Subject, Policy: read.Policy,
		StartsAt: timeOrZero(read.StartsAt), ExpiresAt: timeOrZero(read.ExpiresAt), CreatedAt: timeOrZero(read.CreatedAt),
	}
	return nil
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
