package magistrate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Explanation says why a check is allowed or denied (docs/explain.md).
type Explanation struct {
	// Decision is "allowed" or "denied".
	Decision string `json:"decision"`
	// Check is the check in written form.
	Check string `json:"check"`
	// Because is the tree of steps that led to the decision.
	Because ExplanationNode `json:"because"`
	// Path has the warrants from the subject to the object if the check is allowed.
	Path []Warrant `json:"path"`
	// WouldAllow has the smallest changes that would allow the check if it is denied; the first is the best.
	WouldAllow []Suggestion `json:"wouldAllow"`
	// Unknown names what the check has and the model does not define.
	Unknown []string `json:"unknown"`
	// Complete is false if there may be other suggestions.
	Complete *bool `json:"complete"`
}

// Allowed reports whether the check is allowed.
func (e *Explanation) Allowed() bool { return e.Decision == "allowed" }

// ExplanationNode is a step of an explanation: a check or a rule.
type ExplanationNode struct {
	Check string `json:"check"`
	Rule  string `json:"rule"`
	// Holds is true, false or "unknown".
	Holds any `json:"holds"`
	// Via is the warrant through which the parent reaches this step.
	Via *Warrant `json:"via"`
	// OutOfForce is "expired" or "notStarted" if Via does not count because of its time limits.
	OutOfForce string `json:"outOfForce"`
	// Policy is that of Via.
	Policy *PolicyResult `json:"policy"`
	// Children are the steps that it depends on.
	Children []ExplanationNode `json:"children"`
	// Cut is how many branches are not shown.
	Cut int `json:"cut"`
	// Loop says that the step depends on itself.
	Loop bool `json:"loop"`
}

// PolicyResult is what a policy came to, and the variables that it read.
type PolicyResult struct {
	Text string `json:"text"`
	// Holds is true, false or "unknown".
	Holds  any            `json:"holds"`
	Values map[string]any `json:"values"`
	// Missing names the variables whose absence is the reason that it is unknown.
	Missing []string `json:"missing"`
}

// Suggestion is a change that would allow a denied check.
type Suggestion struct {
	Create []Warrant `json:"create"`
	Delete []Warrant `json:"delete"`
	// Context names the variables of policies that are missing or would have to differ.
	Context struct {
		Missing   []string       `json:"missing"`
		Different []string       `json:"different"`
		Example   map[string]any `json:"example"`
	} `json:"context"`
	// Effects counts the access that others would gain and lose.
	Effects struct {
		Gained   int  `json:"gained"`
		Lost     int  `json:"lost"`
		Complete bool `json:"complete"`
	} `json:"effects"`
	Note string `json:"note"`
}

// String returns the warrants to delete and to create. It is empty if the change is one of the context.
func (s Suggestion) String() string {
	var changes []string
	for _, warrant := range s.Delete {
		changes = append(changes, "delete "+warrant.String())
	}
	for _, warrant := range s.Create {
		changes = append(changes, "create "+warrant.String())
	}
	return strings.Join(changes, " and ")
}

type explainBody struct {
	checkJSON
	Strict     *bool     `json:"strict,omitempty"`
	AsOf       string    `json:"asOf,omitempty"`
	Contextual []Warrant `json:"contextualWarrants,omitempty"`
}

// Explain returns why a check is allowed or denied, and what would allow it.
func (c *Client) Explain(
	ctx context.Context, subject, relation, object string, options ...CallOption,
) (*Explanation, error) {
	chosen := readOptions(options)
	one, err := buildCheck(Check{Subject: subject, Relation: relation, Object: object, Context: chosen.context})
	if err != nil {
		return nil, err
	}
	contextual, err := chosen.contextual()
	if err != nil {
		return nil, err
	}
	explained := &Explanation{}
	_, err = c.call(ctx, request{
		method: "POST", path: "/v2/explain", isRead: true, token: chosen.token,
		body: explainBody{checkJSON: one, Strict: chosen.strict, AsOf: chosen.asOf, Contextual: contextual},
	}, func(body []byte) error {
		*explained = Explanation{}
		if err := json.Unmarshal(body, explained); err != nil {
			return err
		}
		if explained.Decision != "allowed" && explained.Decision != "denied" {
			return errors.New("the decision is missing")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return explained, nil
}
