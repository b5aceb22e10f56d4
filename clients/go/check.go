package magistrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxChecks is how many checks [Client.CheckMany] sends in one request.
const MaxChecks = 1000

// Check is one of the checks of [Client.CheckMany].
type Check struct {
	Subject, Relation, Object string
	// Context has the variables of policies for this check alone; they override those of [WithContext].
	Context map[string]any
}

type checkJSON struct {
	Type     string         `json:"objectType"`
	ID       string         `json:"objectId"`
	Relation string         `json:"relation"`
	Subject  Ref            `json:"subject"`
	Context  map[string]any `json:"context,omitempty"`
}

type checkBody struct {
	Op         string         `json:"op,omitempty"`
	Checks     []checkJSON    `json:"warrants"`
	Context    map[string]any `json:"context,omitempty"`
	Strict     *bool          `json:"strict,omitempty"`
	AsOf       string         `json:"asOf,omitempty"`
	Contextual []Warrant      `json:"contextualWarrants,omitempty"`
}

type checkResult struct {
	Code   int    `json:"code"`
	Result string `json:"result"`
}

// isAllowed returns what the service decided. Anything but its two results is an error: an answer that cannot be read
// never allows.
func (r checkResult) isAllowed() (bool, error) {
	switch {
	case r.Code == 200 && r.Result == "Authorized":
		return true, nil
	case r.Code == 403 && r.Result == "Not Authorized":
		return false, nil
	}
	return false, errors.New("the result of a check is missing")
}

// Check reports whether the subject has the relation on the object:
//
//	allowed, err := client.Check(ctx, "user:ann", "viewer", "document:plan")
func (c *Client) Check(ctx context.Context, subject, relation, object string, options ...CallOption) (bool, error) {
	one, err := buildCheck(Check{Subject: subject, Relation: relation, Object: object})
	if err != nil {
		return false, err
	}
	var isAllowed bool
	err = c.check(ctx, "", []checkJSON{one}, options, func(body []byte) error {
		var result checkResult
		if err := json.Unmarshal(body, &result); err != nil {
			return err
		}
		decided, err := result.isAllowed()
		isAllowed = decided
		return err
	})
	return isAllowed && err == nil, err
}

// CheckMany returns the result of each check, in the same order. Up to [MaxChecks] are one request and are decided at
// one revision; more are several requests.
func (c *Client) CheckMany(ctx context.Context, checks []Check, options ...CallOption) ([]bool, error) {
	built := make([]checkJSON, 0, len(checks))
	for i, check := range checks {
		one, err := buildCheck(check)
		if err != nil {
			return nil, fmt.Errorf("check %d: %w", i, err)
		}
		built = append(built, one)
	}
	results := make([]bool, 0, len(checks))
	for start := 0; start < len(built); start += MaxChecks {
		chunk := built[start:min(start+MaxChecks, len(built))]
		var decided []bool
		err := c.check(ctx, "batch", chunk, options, func(body []byte) error {
			decisions, err := readDecisions(body, len(chunk))
			decided = decisions
			return err
		})
		if err != nil {
			return nil, err
		}
		results = append(results, decided...)
	}
	return results, nil
}

func readDecisions(body []byte, count int) ([]bool, error) {
	var results []checkResult
	if err := json.Unmarshal(body, &results); err != nil {
		return nil, err
	}
	if len(results) != count {
		return nil, fmt.Errorf("%d checks have %d results", count, len(results))
	}
	decisions := make([]bool, count)
	for i, result := range results {
		isAllowed, err := result.isAllowed()
		if err != nil {
			return nil, err
		}
		decisions[i] = isAllowed
	}
	return decisions, nil
}

// Require returns nil if the check is allowed, and a [*DeniedError] if it is denied. Any other error means that the
// result is not known.
func (c *Client) Require(ctx context.Context, subject, relation, object string, options ...CallOption) error {
	isAllowed, err := c.Check(ctx, subject, relation, object, options...)
	if err != nil || isAllowed {
		return err
	}
	denied := &DeniedError{Subject: subject, Relation: relation, Object: object}
	if readOptions(options).explains {
		// A denial stays one if it cannot be explained, or was allowed in between.
		if explanation, err := c.Explain(ctx, subject, relation, object, options...); err == nil && !explanation.Allowed() {
			denied.Explanation = explanation
		}
	}
	return denied
}

func (c *Client) check(
	ctx context.Context, op string, checks []checkJSON, options []CallOption, read func([]byte) error,
) error {
	chosen := readOptions(options)
	contextual, err := chosen.contextual()
	if err != nil {
		return err
	}
	_, err = c.call(ctx, request{
		method: "POST", path: "/v2/check", isRead: true, token: chosen.token,
		body: checkBody{
			Op: op, Checks: checks, Context: chosen.context, Strict: chosen.strict, AsOf: chosen.asOf,
			Contextual: contextual,
		},
	}, read)
	return err
}

func buildCheck(check Check) (checkJSON, error) {
	subject, err := parseRef("subject", check.Subject)
	if err != nil {
		return checkJSON{}, err
	}
	object, err := parseObject("object", check.Object)
	if err != nil {
		return checkJSON{}, err
	}
	if check.Relation == "" {
		return checkJSON{}, invalid("relation", "it is missing")
	}
	return checkJSON{
		Type: object.Type, ID: object.ID, Relation: check.Relation, Subject: subject, Context: check.Context,
	}, nil
}
