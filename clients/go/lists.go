package magistrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
)

// pages yields the rows of all pages. next makes the request of the page behind a cursor, which is empty at first.
// Reading ends with the first error.
func pages[Row any](
	ctx context.Context, c *Client, size int, next func(cursor string) (request, error),
) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var none Row
		if size < 1 || size > maxPageSize {
			yield(none, invalid("page size", "it must be 1 to %d", maxPageSize))
			return
		}
		for cursor := ""; ; {
			sent, err := next(cursor)
			if err != nil {
				yield(none, err)
				return
			}
			var rows []Row
			var following string
			_, err = c.call(ctx, sent, func(body []byte) (err error) {
				rows, following, err = readPage[Row](body)
				return err
			})
			if err != nil {
				yield(none, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if following == "" {
				return
			}
			if following == cursor {
				yield(none, &ConnectionError{Err: errors.New("a list does not go on")})
				return
			}
			cursor = following
		}
	}
}

func readPage[Row any](body []byte) ([]Row, string, error) {
	var read struct {
		Results    *[]Row `json:"results"`
		NextCursor string `json:"nextCursor"`
	}
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, "", err
	}
	if read.Results == nil {
		return nil, "", errors.New("the results are missing")
	}
	return *read.Results, read.NextCursor, nil
}

type queryBody struct {
	Query      string         `json:"q"`
	Limit      int            `json:"limit"`
	Context    map[string]any `json:"context,omitempty"`
	AsOf       string         `json:"asOf,omitempty"`
	Strict     *bool          `json:"strict,omitempty"`
	NextCursor string         `json:"nextCursor,omitempty"`
	Contextual []Warrant      `json:"contextualWarrants,omitempty"`
}

// Objects yields the objects of a type on which the subject has the relation, such as "document:plan", in order and each
// once. All pages show the state at the first one. Reading ends with the first error:
//
//	for object, err := range client.Objects(ctx, "user:ann", "viewer", "document") {
//		if err != nil {
//			return err
//		}
//		fmt.Println(object)
//	}
func (c *Client) Objects(
	ctx context.Context, subject, relation, objectType string, options ...CallOption,
) iter.Seq2[string, error] {
	text, err := writeQuery("subject", subject, relation, objectType, func(ref string) string {
		return fmt.Sprintf("select %s where %s is %s", objectType, ref, relation)
	})
	return c.query(ctx, text, err, options)
}

// Subjects yields the subjects of a type that have the relation on the object, such as "user:ann", in order and each
// once, like [Client.Objects]. If everyone of the type has it, "user:*" is one of them. The type "group#member" yields
// usersets, such as "group:eng#member".
func (c *Client) Subjects(
	ctx context.Context, object, relation, subjectType string, options ...CallOption,
) iter.Seq2[string, error] {
	text, err := writeQuery("object", object, relation, subjectType, func(ref string) string {
		return fmt.Sprintf("select %s of type %s for %s", relation, subjectType, ref)
	})
	return c.query(ctx, text, err, options)
}

// writeQuery returns a query, once nothing in it can mean more than one name.
func writeQuery(parameter, text, relation, typeName string, write func(ref string) string) (string, error) {
	ref, err := parseObject(parameter, text)
	if err != nil {
		return "", err
	}
	group, member, isUserset := strings.Cut(typeName, "#")
	switch {
	case !queryName.MatchString(relation):
		return "", invalid("relation", "%q is not the name of a relation", relation)
	case !queryName.MatchString(group) || isUserset && (parameter == "subject" || !queryName.MatchString(member)):
		return "", invalid("type", "%q is not the name of a type", typeName)
	case !queryName.MatchString(ref.Type):
		return "", invalid(parameter, "%q is not the name of a type", ref.Type)
	case strings.Contains(ref.ID, `"`):
		return "", invalid(parameter, "an id cannot have quotation marks")
	}
	return write(fmt.Sprintf(`%s:"%s"`, ref.Type, ref.ID)), nil
}

func (c *Client) query(
	ctx context.Context, text string, err error, options []CallOption,
) iter.Seq2[string, error] {
	chosen := readOptions(options)
	contextual, badWarrants := chosen.contextual()
	rows := pages[struct {
		Ref
		SubjectRelation string `json:"subjectRelation"`
	}](ctx, c, chosen.pageSize, func(cursor string) (request, error) {
		return request{
			method: "POST", path: "/v2/query", isRead: true, token: chosen.token,
			body: queryBody{
				Query: text, Limit: chosen.pageSize, Context: chosen.context, AsOf: chosen.asOf, Strict: chosen.strict,
				NextCursor: cursor, Contextual: contextual,
			},
		}, errors.Join(err, badWarrants)
	})
	return func(yield func(string, error) bool) {
		for row, err := range rows {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(Ref{Type: row.Type, ID: row.ID, Relation: row.SubjectRelation}.String(), nil) {
				return
			}
		}
	}
}

// WarrantFilter selects warrants that have all of its values; an empty one selects all.
type WarrantFilter struct {
	ObjectType, ObjectID, Relation          string
	SubjectType, SubjectID, SubjectRelation string
}

func (f WarrantFilter) parameters() url.Values {
	parameters := url.Values{}
	for name, value := range map[string]string{
		"objectType": f.ObjectType, "objectId": f.ObjectID, "relation": f.Relation,
		"subjectType": f.SubjectType, "subjectId": f.SubjectID, "subjectRelation": f.SubjectRelation,
	} {
		if value != "" {
			parameters.Set(name, value)
		}
	}
	return parameters
}

// Warrants yields the stored warrants that the filter selects, in the order of their creation, without those that have
// expired. All pages show the state at the first one.
func (c *Client) Warrants(
	ctx context.Context, filter WarrantFilter, options ...CallOption,
) iter.Seq2[Warrant, error] {
	chosen := readOptions(options)
	return pages[Warrant](ctx, c, chosen.pageSize, func(cursor string) (request, error) {
		parameters := filter.parameters()
		parameters.Set("limit", strconv.Itoa(chosen.pageSize))
		setUnlessEmpty(parameters, "nextCursor", cursor)
		if chosen.asOf == "" {
			parameters.Set("snapshot", "true")
		} else {
			parameters.Set("asOf", chosen.asOf)
		}
		return request{method: "GET", path: "/v2/warrants", query: parameters, isRead: true, token: chosen.token}, nil
	})
}

func setUnlessEmpty(parameters url.Values, name, value string) {
	if value != "" {
		parameters.Set(name, value)
	}
}
