// Package magistratehttp protects handlers of net/http: a request is passed on if the check for it is allowed.
//
//	guard := magistratehttp.Guard{Client: client, Subject: findUser}
//	mux.Handle("GET /documents/{id}", guard.Require("can-read", "document:{id}", showDocument))
package magistratehttp

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"

	magistrate "magistrate.example/clients/go"
)

// Guard makes the handlers that check requests.
type Guard struct {
	// Client makes the checks.
	Client *magistrate.Client
	// Subject returns who makes the request, such as "user:ann", or the empty text for nobody: take it from what the
	// request has proved, such as a session, and never from what anybody may send.
	Subject func(*http.Request) string
	// Refuse answers a request that is not passed on, with a status: 401 without a subject, 403 if the check is denied
	// (err is a [*magistrate.DeniedError]) and if the path names what no object can be called, 503 if the result is not
	// known, 500 if the service refuses the check itself. Without it, the answer is the name of the status.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, err error)
}

// Require returns a handler that passes a request on to next if its subject has the relation on the object. The object
// is an id such as "folder:company", or has the name of a wildcard of the pattern of the route: "document:{id}". Require
// panics if it cannot be an object, as patterns of http.ServeMux do.
func (g Guard) Require(relation, object string, next http.Handler) http.Handler {
	typeName, id, _ := strings.Cut(object, ":")
	wildcard, isWildcard := strings.CutPrefix(id, "{")
	wildcard, isClosed := strings.CutSuffix(wildcard, "}")
	ref, err := magistrate.ParseRef(object)
	if err != nil || ref.Relation != "" || isWildcard != isClosed || strings.ContainsAny(wildcard, "{}") || strings.Contains(typeName, "{") {
		panic("magistratehttp: " + object + " is not an object; write it as in document:{id}")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := g.Subject(r)
		if subject == "" {
			g.refuse(w, r, http.StatusUnauthorized, errors.New("the request has no subject"))
			return
		}
		checked := object
		if isWildcard {
			value := r.PathValue(wildcard)
			if strings.ContainsAny(value, `"#*`) { // they would make another object of it
				g.refuse(w, r, http.StatusForbidden, errors.New("no object has this id"))
				return
			}
			checked = typeName + ":" + value
		}
		if err := g.Client.Require(r.Context(), subject, relation, checked); err != nil {
			g.refuse(w, r, chooseStatus(err), err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// chooseStatus returns the status of a request whose check is not allowed.
func chooseStatus(err error) int {
	var denied *magistrate.DeniedError
	var argument *magistrate.ArgumentError
	var refused *magistrate.Error
	switch {
	case errors.As(err, &denied), errors.As(err, &argument), errors.Is(err, magistrate.ErrInvalidParameter):
		return http.StatusForbidden
	case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError &&
		!errors.Is(err, magistrate.ErrTooManyRequests) && !errors.Is(err, magistrate.ErrRevisionLost):
		return http.StatusInternalServerError // the key may not make checks, or the type is not defined
	}
	return http.StatusServiceUnavailable
}

func (g Guard) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	if status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		slog.ErrorContext(r.Context(), "a request was not checked", "error", err)
	}
	if g.Refuse != nil {
		g.Refuse(w, r, status, err)
		return
	}
	var refused *magistrate.Error
	if status == http.StatusServiceUnavailable && errors.As(err, &refused) && refused.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(refused.RetryAfter.Seconds()))))
	}
	http.Error(w, http.StatusText(status), status)
}
