package magistrate

import (
	"encoding/base64"
	"encoding/binary"
	"sync"
)

// session holds the newest token that the service gave to a client.
type session struct {
	mu    sync.Mutex
	token string
}

func (s *session) get() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// remember keeps the token unless the one that it has is of a later revision: answers of concurrent calls arrive in any
// order. A token whose form is unknown to this version replaces the other.
func (s *session) remember(token string) {
	if token == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !precedes(token, s.token) {
		s.token = token
	}
}

// discard discards the token if it is still this one.
func (s *session) discard(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token = ""
	}
}

// precedes reports whether both are tokens of one store, and the first is of an earlier revision.
func precedes(token, other string) bool {
	store, revision, isToken := readToken(token)
	otherStore, otherRevision, isOther := readToken(other)
	return isToken && isOther && store == otherStore && revision < otherRevision
}

// readToken returns the store and the revision of a token: base64 of a version byte, 8 bytes of the store's id and 8 of
// the revision, and more.
func readToken(token string) (store string, revision uint64, isToken bool) {
	content, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(content) < 17 || content[0] < 1 || content[0] > 2 {
		return "", 0, false
	}
	return string(content[1:9]), binary.BigEndian.Uint64(content[9:17]), true
}
