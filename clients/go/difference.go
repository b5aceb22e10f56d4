package magistrate

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"strings"
)

// DifferenceQuery says what is compared: the states at From and To, tokens or RFC 3339 times of which To is now if it is
// empty; or, without From, the state now with one in which Create and Delete were written.
type DifferenceQuery struct {
	From, To string
	// Create and Delete are warrants in written form. Nothing is written.
	Create, Delete []string
	// Of selects access, such as "document#viewer@user"; all of it if it is empty.
	Of []string
	// Subject and Object select the access of one subject, and to one object.
	Subject, Object string
}

// AccessRow is access of a subject to an object.
type AccessRow struct {
	Ref
	Relation string `json:"relation"`
	Subject  Ref    `json:"subject"`
	// Conditional access depends on the context.
	Conditional bool `json:"conditional"`
	// Cause is what led to a change.
	Cause Cause `json:"cause"`
}

// String returns the access in written form.
func (r AccessRow) String() string {
	return Warrant{Object: r.Ref, Relation: r.Relation, Subject: r.Subject}.String()
}

// Cause is what led to a change of access: warrants (or objects, without a relation) that were created or deleted, or
// took or lost effect, and the names of object types that differ.
type Cause struct {
	Created     []Warrant `json:"created"`
	Deleted     []Warrant `json:"deleted"`
	ObjectTypes []string  `json:"objectTypes"`
}

// AccessChange is access that was gained or lost.
type AccessChange struct {
	// Change is "gained" or "lost".
	Change string `json:"change"`
	AccessRow
}

type differenceBody struct {
	Proposal struct {
		Create []Warrant `json:"create,omitempty"`
		Delete []Warrant `json:"delete,omitempty"`
	} `json:"proposal"`
	Of         string `json:"of,omitempty"`
	Subject    string `json:"subject,omitempty"`
	Object     string `json:"object,omitempty"`
	Limit      int    `json:"limit"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Difference yields the access that is gained and lost between two states (docs/difference.md), sorted by object,
// relation and subject. All pages are of the same two states.
func (c *Client) Difference(
	ctx context.Context, query DifferenceQuery, options ...CallOption,
) iter.Seq2[AccessChange, error] {
	chosen := readOptions(options)
	return pages[AccessChange](ctx, c, chosen.pageSize, func(cursor string) (request, error) {
		if query.From == "" {
			return query.propose(chosen, cursor)
		}
		return query.compare(chosen, cursor), nil
	})
}

func (q DifferenceQuery) compare(chosen call, cursor string) request {
	parameters := url.Values{"from": {q.From}, "limit": {strconv.Itoa(chosen.pageSize)}}
	setUnlessEmpty(parameters, "to", q.To)
	setUnlessEmpty(parameters, "of", strings.Join(q.Of, ","))
	setUnlessEmpty(parameters, "subject", q.Subject)
	setUnlessEmpty(parameters, "object", q.Object)
	setUnlessEmpty(parameters, "nextCursor", cursor)
	return request{method: "GET", path: "/v2/difference", query: parameters, isRead: true, token: chosen.token}
}

func (q DifferenceQuery) propose(chosen call, cursor string) (request, error) {
	body := differenceBody{
		Of: strings.Join(q.Of, ","), Subject: q.Subject, Object: q.Object, Limit: chosen.pageSize, NextCursor: cursor,
	}
	var err error
	if body.Proposal.Create, err = parseWarrants("create", q.Create); err != nil {
		return request{}, err
	}
	if body.Proposal.Delete, err = parseWarrants("delete", q.Delete); err != nil {
		return request{}, err
	}
	return request{method: "POST", path: "/v2/difference", isRead: true, token: chosen.token, body: body}, nil
}

func parseWarrants(parameter string, written []string) ([]Warrant, error) {
	warrants := make([]Warrant, 0, len(written))
	for _, text := range written {
		warrant, err := parseWarrant(parameter, text)
		if err != nil {
			return nil, err
		}
		warrants = append(warrants, warrant)
	}
	return warrants, nil
}
