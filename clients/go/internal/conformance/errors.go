package main

import (
	"errors"

	magistrate "magistrate.example/clients/go"
)

type errorLine struct {
	Kind    string  `json:"kind"`
	Code    *string `json:"code"`
	Status  *int    `json:"status"`
	Reason  string  `json:"reason,omitempty"`
	Message string  `json:"message"`
}

// kinds maps errors to their kinds, each before those that comprise it.
var kinds = []struct {
	target error
	kind   string
}{
	{magistrate.ErrNotAllowed, "not_allowed"},
	{magistrate.ErrStrandedWarrants, "orphaned_warrants"},
	{magistrate.ErrInvalidParameter, "invalid_parameter"},
	{magistrate.ErrInvalidModel, "invalid_model"},
	{magistrate.ErrInvalidRequest, "invalid_request"},
	{magistrate.ErrUnauthorized, "unauthenticated"},
	{magistrate.ErrForbidden, "forbidden"},
	{magistrate.ErrNotFound, "not_found"},
	{magistrate.ErrLimitReached, "limit_reached"},
	{magistrate.ErrPreconditionFailed, "precondition_failed"},
	{magistrate.ErrRevisionLost, "revision_lost"},
	{magistrate.ErrConflict, "conflict"},
	{magistrate.ErrGone, "gone"},
	{magistrate.ErrTooManyRequests, "too_many_requests"},
	{magistrate.ErrUnavailable, "unavailable"},
	{magistrate.ErrReadOnly, "read_only"},
	{magistrate.ErrBudgetSpent, "budget_exceeded"},
	{magistrate.ErrInternal, "internal_error"},
}

func describe(err error) *errorLine {
	described := &errorLine{Kind: "unknown", Message: err.Error()}
	var refused *magistrate.Error
	var denied *magistrate.DeniedError
	var argument *magistrate.ArgumentError
	var late *magistrate.TimeoutError
	var lost *magistrate.ConnectionError
	switch {
	case errors.As(err, &denied):
		described.Kind, described.Reason = "denied", denied.Reason()
	case errors.As(err, &argument):
		described.Kind = "invalid_use"
	case errors.As(err, &late):
		described.Kind = "timeout"
	case errors.As(err, &lost):
		described.Kind = "unreachable"
	case errors.As(err, &refused):
		if refused.Code != "" {
			described.Code = &refused.Code
		}
		if refused.Status != 0 {
			described.Status = &refused.Status
		}
		for _, row := range kinds {
			if errors.Is(err, row.target) {
				described.Kind = row.kind
				break
			}
		}
	}
	return described
}
