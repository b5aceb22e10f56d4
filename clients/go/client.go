package magistrate

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// These variables of the environment are used where [New] is given no option.
const (
	urlVariable   = "MAGISTRATE_URL"
	keyVariable   = "MAGISTRATE_API_KEY"
	storeVariable = "MAGISTRATE_STORE"
)

const (
	defaultTimeout = 10 * time.Second
	defaultRetries = 3
	// maxPageSize is the most rows that a page of a list may have.
	maxPageSize = 1000
	// maxIdleConnections is how many connections to the service are kept; net/http keeps 2, and opens one for each
	// request beyond them.
	maxIdleConnections = 64
)

// Consistency says how fresh the reads of a client are.
type Consistency string

const (
	// Session reads see all that the client has written and nothing older than what it has read. This is the default.
	Session Consistency = "session"
	// Latest reads see everything that was written before they began, by anybody.
	Latest Consistency = "latest"
	// None reads may miss a write of another process for some milliseconds, and one of the client itself if another
	// node answers.
	None Consistency = "none"
)

// Client calls a Magistrate service. Its methods may be called by any number of goroutines at once; they share
// connections and one session.
type Client struct {
	settings
	base    string
	http    *http.Client
	session *session
}

type settings struct {
	url, key, store string
	isBearer        bool
	timeout         time.Duration
	retries         int
	consistency     Consistency
	given           *http.Client
}

// Option sets something of a client.
type Option func(*settings)

// WithURL sets the URL of the service, such as "http://127.0.0.1:8000". The default is that of MAGISTRATE_URL.
func WithURL(url string) Option { return func(s *settings) { s.url = url } }

// WithKey sets the API key. The default is that of MAGISTRATE_API_KEY.
func WithKey(key string) Option { return func(s *settings) { s.key, s.isBearer = key, false } }

// WithBearer sets a session token, or a token of the login provider, with which its user checks their own access.
func WithBearer(token string) Option { return func(s *settings) { s.key, s.isBearer = token, true } }

// WithStore sets the name or id of the store, which keys of operators may choose. The default is that of
// MAGISTRATE_STORE, and without it the store of the key.
func WithStore(store string) Option { return func(s *settings) { s.store = store } }

// WithTimeout limits how long a call may take, retries and pauses included. The default is 10 seconds.
func WithTimeout(timeout time.Duration) Option { return func(s *settings) { s.timeout = timeout } }

// WithRetries limits how often a request is repeated. The default is 3; 0 repeats none.
func WithRetries(retries int) Option { return func(s *settings) { s.retries = retries } }

// WithConsistency sets how fresh reads are. The default is [Session].
func WithConsistency(consistency Consistency) Option {
	return func(s *settings) { s.consistency = consistency }
}

// WithHTTPClient sets the client that sends the requests, for a transport of your own. Redirects are not followed, and
// its Timeout is not used: that of [WithTimeout] is.
func WithHTTPClient(client *http.Client) Option { return func(s *settings) { s.given = client } }

// New returns a client. It sends nothing; the first call connects. Proxies are those of HTTPS_PROXY, HTTP_PROXY and
// NO_PROXY, unless [WithHTTPClient] is given.
func New(options ...Option) (*Client, error) {
	chosen := settings{
		url: os.Getenv(urlVariable), key: os.Getenv(keyVariable), store: os.Getenv(storeVariable),
		timeout: defaultTimeout, retries: defaultRetries, consistency: Session,
	}
	for _, option := range options {
		option(&chosen)
	}
	base, err := readBase(chosen.url)
	if err != nil {
		return nil, err
	}
	if err := chosen.validate(); err != nil {
		return nil, err
	}
	if chosen.store != "" {
		base += "/stores/" + segment(chosen.store)
	}
	return &Client{settings: chosen, base: base, http: buildHTTP(chosen.given), session: &session{}}, nil
}

func readBase(text string) (string, error) {
	if text == "" {
		return "", invalid("url", "the URL of the service is missing: set %s or use WithURL", urlVariable)
	}
	parsed, err := url.Parse(text)
	// The text is not shown, because it may contain a password.
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" ||
		strings.ContainsAny(text, "?#@") {
		return "", invalid("url", "it is not the URL of a service; write it as in http://127.0.0.1:8000")
	}
	return strings.TrimRight(text, "/"), nil
}

func (s *settings) validate() error {
	for _, character := range s.key {
		if character < '!' || character > '~' {
			return invalid("key", "a key has only printable ASCII characters and no blanks")
		}
	}
	switch {
	case s.timeout <= 0:
		return invalid("timeout", "it must be above 0")
	case s.retries < 0:
		return invalid("retries", "it must be 0 or more")
	}
	switch s.consistency {
	case Session, Latest, None:
		return nil
	}
	return invalid("consistency", "it can only be session, latest or none")
}

func buildHTTP(given *http.Client) *http.Client {
	var built http.Client
	if given != nil {
		built = *given
	}
	if built.Transport == nil && given == nil {
		if standard, isStandard := http.DefaultTransport.(*http.Transport); isStandard {
			transport := standard.Clone()
			transport.MaxIdleConnsPerHost = maxIdleConnections
			built.Transport = transport
		}
	}
	built.Timeout = 0
	// The service redirects none of these requests, so a redirect leads elsewhere, and the key must not follow it.
	built.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &built
}

// Token returns the newest token that the service gave to this client, or the empty text. Pass it to [Client.At] or
// [WithToken] of a client in another process, which then sees everything that this one has seen.
func (c *Client) Token() string { return c.session.get() }

// At returns a client with the connections of c and a session of its own, which begins with the token: with the
// consistency [Session], its reads are at least as fresh as that. The empty token demands nothing.
func (c *Client) At(token string) *Client {
	at := *c
	at.session = &session{token: token}
	return &at
}

// Close closes the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// segment returns a text quoted as a segment of a path; one of dots only would otherwise be read as a folder.
func segment(text string) string { return strings.ReplaceAll(url.PathEscape(text), ".", "%2E") }

// CallOption sets something of one call.
type CallOption func(*call)

// call holds what the options of a call say.
type call struct {
	token    string
	context  map[string]any
	warrants []string
	asOf     string
	strict   *bool
	explains bool
	pageSize int
}

// WithToken makes the read at least as fresh as this token, whatever the consistency of the client. "latest" reads the
// newest there is.
func WithToken(token string) CallOption { return func(c *call) { c.token = token } }

// WithContext sets the variables of policies. It is for checks, explanations, and lists of objects and subjects.
func WithContext(context map[string]any) CallOption { return func(c *call) { c.context = context } }

// WithWarrants counts these warrants, in written form, as if they were stored, for this call alone: for checks,
// explanations, and lists of objects and subjects.
func WithWarrants(written ...string) CallOption {
	return func(c *call) { c.warrants = append(c.warrants, written...) }
}

// WithAsOf answers as of a past token or RFC 3339 time. A difference says in its query which times it compares.
func WithAsOf(point string) CallOption { return func(c *call) { c.asOf = point } }

// WithStrict refuses names of types and relations that the model does not define, or (false) takes them for names that
// nobody has, whatever the setting of the service.
func WithStrict(strict bool) CallOption { return func(c *call) { c.strict = &strict } }

// WithExplanation adds the reason to the [*DeniedError] of [Client.Require], for one more request.
func WithExplanation() CallOption { return func(c *call) { c.explains = true } }

// WithPageSize sets how many rows of a list a request gets, 1 to 1,000. The default is 1,000.
func WithPageSize(rows int) CallOption { return func(c *call) { c.pageSize = rows } }

func readOptions(options []CallOption) call {
	c := call{pageSize: maxPageSize}
	for _, option := range options {
		option(&c)
	}
	return c
}

// contextual returns the warrants of WithWarrants.
func (c *call) contextual() ([]Warrant, error) {
	return parseWarrants("contextualWarrants", c.warrants)
}
