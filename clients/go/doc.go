// Package magistrate is the client of Magistrate, a self-hosted fine-grained authorization service.
//
// A [Client] checks whether a subject has a relation on an object, lists objects and subjects, writes warrants and
// follows what is written:
//
//	client, err := magistrate.New() // MAGISTRATE_URL, MAGISTRATE_API_KEY
//	if err != nil { … }
//	allowed, err := client.Check(ctx, "user:ann", "viewer", "document:plan")
//
// Subjects and objects are texts such as "user:ann", "document:plan" and, for the userset of all that have a relation,
// "team:eng#member"; [Ref] builds and parses them. Warrants are written as "document:plan#viewer@user:ann", or built as
// a [Warrant].
//
// # Consistency
//
// A client remembers the newest token that the service gave it and sends it with each read, so that every read sees the
// client's own writes, and nothing older than what it has read before, whichever node answers. [WithConsistency]
// changes that; [Client.Token], [Client.At] and [WithToken] carry it from one process to another.
//
// # Deadlines and retries
//
// Every call ends within the timeout of the client (10 seconds unless [WithTimeout] says otherwise) or when its context
// does, whichever comes first; this includes retries. Calls that change nothing, and [Client.Write], which sends an
// idempotency key that is made once per call, are repeated after connections that fail and answers that say to try
// again. A pause that would end after the deadline is not begun: the call returns the error at once.
//
// # Errors
//
// What the service refuses is an [*Error], which errors.Is compares by its code: errors.Is(err,
// magistrate.ErrRevisionLost). A call without an answer is a [*ConnectionError] or a [*TimeoutError]. No error means
// "denied", except the [*DeniedError] of [Client.Require], and no call returns true with an error.
package magistrate
