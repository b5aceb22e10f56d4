package magistrate

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// code is an error that stands for all errors of the service with this code.
type code string

// Error returns the code.
func (c code) Error() string { return "magistrate: " + string(c) }

// These are the codes of the service (docs/api.md#errors). Compare with errors.Is:
//
//	if errors.Is(err, magistrate.ErrPreconditionFailed) { … }
const (
	// ErrInvalidRequest is a request that cannot be read as a whole.
	ErrInvalidRequest = code("invalid_request")
	// ErrInvalidParameter is a value that is not valid; [Error.Parameter] names it.
	ErrInvalidParameter = code("invalid_parameter")
	// ErrMissingParameter is a required value that is missing.
	ErrMissingParameter = code("missing_required_parameter")
	// ErrInvalidModel is a model with faults; the member "errors" of [Error.Details] lists them.
	ErrInvalidModel = code("invalid_model")
	// ErrNotAllowed is a warrant that the allowed types of its relation forbid.
	ErrNotAllowed = code("not_allowed")
	// ErrStrandedWarrants is a model that forbids stored warrants.
	ErrStrandedWarrants = code("stranded_warrants")
	// ErrUnauthorized is a key that is missing or not valid.
	ErrUnauthorized = code("unauthorized")
	// ErrTokenExpired is a session token that has expired.
	ErrTokenExpired = code("token_expired")
	// ErrForbidden is a key without the scope that the request needs. It says nothing about the subject of a check.
	ErrForbidden = code("forbidden")
	// ErrNotFound is something that does not exist: a warrant to delete, an object type, a store.
	ErrNotFound = code("not_found")
	// ErrConflict is a request that what is stored stands in the way of.
	ErrConflict = code("conflict")
	// ErrLimitReached is a write beyond a limit of its store.
	ErrLimitReached = code("limit_reached")
	// ErrPreconditionFailed is a precondition of a write that does not hold; "index" in [Error.Details] is its place.
	ErrPreconditionFailed = code("precondition_failed")
	// ErrRevisionLost is a token of a write that the store does not hold: it was restored, or failed over without it.
	ErrRevisionLost = code("revision_lost")
	// ErrGone is a state or an event that is not kept any more.
	ErrGone = code("gone")
	// ErrTooManyRequests is a rate limit; [Error.RetryAfter] says how long it lasts.
	ErrTooManyRequests = code("too_many_requests")
	// ErrInternal is a fault of the service.
	ErrInternal = code("internal_error")
	// ErrBudgetSpent is a check or query that needs more work than the service allows. Its result is unknown.
	ErrBudgetSpent = code("budget_spent")
	// ErrReadOnly is a write to a service that only reads; "primary" in [Error.Details] is the URL of one that writes.
	ErrReadOnly = code("read_only")
	// ErrUnavailable is a service that cannot answer now.
	ErrUnavailable = code("unavailable")
)

// parents maps codes to the code that comprises them.
var parents = map[code]code{
	ErrInvalidParameter:   ErrInvalidRequest,
	ErrMissingParameter:   ErrInvalidParameter,
	ErrNotAllowed:         ErrInvalidParameter,
	ErrStrandedWarrants:   ErrInvalidParameter,
	ErrInvalidModel:       ErrInvalidRequest,
	ErrTokenExpired:       ErrUnauthorized,
	ErrLimitReached:       ErrConflict,
	ErrPreconditionFailed: ErrConflict,
	ErrRevisionLost:       ErrConflict,
}

var known = map[code]bool{
	ErrInvalidRequest: true, ErrUnauthorized: true, ErrForbidden: true, ErrNotFound: true, ErrConflict: true, ErrGone: true,
	ErrTooManyRequests: true, ErrInternal: true, ErrBudgetSpent: true, ErrReadOnly: true, ErrUnavailable: true,
}

// Error is an answer that refuses a request.
type Error struct {
	// Status is the HTTP status; 0 if a feed was ended by the service.
	Status int
	// Code is the stable name of the error, such as "revision_lost"; it is empty if the answer is that of a proxy.
	Code string
	// Message says what is wrong, for people.
	Message string
	// Parameter names the value that is wrong, if it is one.
	Parameter string
	// RequestID is the id of the request in the log of the service.
	RequestID string
	// RetryAfter is how long the service says to wait; 0 if it says nothing.
	RetryAfter time.Duration
	// Details has the further members of the answer, such as "index", "allowed", "oldest" and "limit".
	Details map[string]any

	saysWhen bool
}

// Error returns the status, the code and the message.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("magistrate: ")
	if e.Status != 0 {
		fmt.Fprintf(&text, "%d ", e.Status)
	}
	text.WriteString(string(e.kind()))
	if e.Parameter != "" {
		fmt.Fprintf(&text, " (%s)", e.Parameter)
	}
	text.WriteString(": " + e.Message)
	if e.RequestID != "" {
		fmt.Fprintf(&text, " [request %s]", e.RequestID)
	}
	return text.String()
}

// Is reports whether target is the code of e, or one that comprises it: a lost revision is a conflict, too, and an
// invalid parameter is an invalid request. A code that this version does not know, or none, counts by its status.
func (e *Error) Is(target error) bool {
	wanted, isCode := target.(code)
	if !isCode {
		return false
	}
	for name := e.kind(); name != ""; name = parents[name] {
		if name == wanted {
			return true
		}
	}
	return false
}

func (e *Error) kind() code {
	name := code(e.Code)
	switch {
	case known[name] || parents[name] != "":
		return name
	case e.Status == 500:
		return ErrInternal
	case e.Status > 500:
		return ErrUnavailable
	}
	return ErrInvalidRequest
}

// ArgumentError is an argument that no request can be made of. Nothing was sent.
type ArgumentError struct {
	// Argument names it.
	Argument string
	// Message says what is wrong with it.
	Message string
}

// Error returns the argument and what is wrong with it.
func (e *ArgumentError) Error() string { return "magistrate: " + e.Argument + ": " + e.Message }

// ConnectionError is a request that got no answer of Magistrate, or not all of it. A write may have been made: repeat it with the same
// [IdempotencyKey] to find out.
type ConnectionError struct {
	// Err is what failed.
	Err error
}

// Error returns what failed.
func (e *ConnectionError) Error() string {
	return "magistrate: no answer from the service: " + e.Err.Error()
}

// Unwrap returns what failed.
func (e *ConnectionError) Unwrap() error { return e.Err }

// TimeoutError is a call that did not end within the timeout of its client. It is a context.DeadlineExceeded to
// errors.Is. A write may have been made: repeat it with the same [IdempotencyKey] to find out.
type TimeoutError struct {
	// Timeout is that of the client.
	Timeout time.Duration
	// Last is what the attempt before ended with, nil if the first one took all the time.
	Last error
}

// Error returns how long the call lasted, and the error of the attempt before.
func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("magistrate: the call did not end within %s", e.Timeout)
	if e.Last != nil {
		text += "; before: " + strings.TrimPrefix(e.Last.Error(), "magistrate: ")
	}
	return text
}

// Unwrap returns context.DeadlineExceeded.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// DeniedError says that a subject does not have the relation that [Client.Require] demands.
type DeniedError struct {
	// Subject, Relation and Object are those of the check.
	Subject, Relation, Object string
	// Explanation says why, if [WithExplanation] was given.
	Explanation *Explanation
}

// Error returns the reason.
func (e *DeniedError) Error() string { return "magistrate: denied: " + e.Reason() }

// Reason returns what is denied and, with an explanation, the first change that would allow it.
func (e *DeniedError) Reason() string {
	text := fmt.Sprintf("%s is not %s of %s", e.Subject, e.Relation, e.Object)
	if e.Explanation == nil || len(e.Explanation.WouldAllow) == 0 {
		return text
	}
	if change := e.Explanation.WouldAllow[0].String(); change != "" {
		text += "; " + change + " would allow it"
	}
	return text
}

func invalid(argument, format string, values ...any) *ArgumentError {
	return &ArgumentError{Argument: argument, Message: fmt.Sprintf(format, values...)}
}
