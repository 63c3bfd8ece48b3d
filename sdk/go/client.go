// Package countersign is the Go client of a Countersign service: typed calls with deadlines and safe retries, pages, and
// refusals as Go errors. A response that the contract does not allow is a *ProtocolError and never half a result. Package
// proof verifies Proofs of Agency, package webhook verifies events, and package protect puts an action in front of a net/http
// or Fiber route.
//
// The package keeps no state but its connections, logs nothing, and sends nothing but what it is called with.
package countersign

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls one environment of a service. It is safe for concurrent use. Make it with New.
type Client struct {
	base    string
	key     string
	http    *http.Client
	timeout time.Duration
	retries int
	waits   func(ctx context.Context, d time.Duration) error
}

// Option changes a client that New makes.
type Option func(*Client)

// WithHTTPClient sends requests with h instead of a client of its own. Its Timeout, if set, bounds every try. Redirects
// are not followed, whatever its CheckRedirect says, because the key must be sent to the service only.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithTimeout bounds one try of a call; the context bounds all of them. The default is 5 s, above any wait of the service.
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithRetries sets how often a call is retried, 2 by default. 0 disables retries.
func WithRetries(n int) Option { return func(c *Client) { c.retries = max(n, 0) } }

// New makes a client of the service at base, such as https://countersign.example, with a server or admin key (sk_...).
func New(base, key string, options ...Option) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return nil, fmt.Errorf("countersign: base must be an http or https URL such as https://countersign.example")
	}
	if !strings.HasPrefix(key, "sk_") && !strings.HasPrefix(key, "pk_") {
		return nil, errors.New("countersign: key must be a credential that begins with sk_ or pk_")
	}
	c := &Client{base: strings.TrimRight(base, "/"), key: key, timeout: 5 * time.Second, retries: 2, waits: wait}
	for _, option := range options {
		option(c)
	}
	own := http.Client{}
	if c.http != nil {
		own = *c.http
	} else {
		own.Transport = transport()
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

// transport keeps more idle connections to the one host it talks to than the default, which keeps two.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// RequestOption changes one call.
type RequestOption func(http.Header)

// DeriveKey returns 32 secret bytes for a purpose of yours. Every process with this API key derives the same, and from it no one learns the
// key.
func (c *Client) DeriveKey(purpose string) []byte {
	h := hmac.New(sha256.New, []byte(c.key))
	h.Write([]byte("countersign " + purpose))
	return h.Sum(nil)
}

// IdempotencyKey makes a repeated call return the response of the first one. By default each call has a fresh key,
// which covers the retries of that call; set your own to cover a restart of your process as well.
func IdempotencyKey(key string) RequestOption {
	return func(h http.Header) { h.Set("Idempotency-Key", key) }
}

// RequestID is the id to find the call by in the service's log.
func RequestID(id string) RequestOption { return func(h http.Header) { h.Set("X-Request-Id", id) } }

// Traceparent continues a trace (W3C Trace Context).
func Traceparent(value string) RequestOption {
	return func(h http.Header) { h.Set("Traceparent", value) }
}

// request is one call before it is sent.
type request struct {
	operation string // of the contract, such as authorize: which rules check its response
	method    string
	path      string
	query     url.Values
	body      any  // nil: none
	keyed     bool // takes an Idempotency-Key
}

// repeatable says that sending the request twice does no more than sending it once.
func (r request) repeatable() bool {
	return r.keyed || r.method == http.MethodGet || r.operation == "authorize" // whose body has its key
}

// do sends r until it succeeds, is refused permanently, or runs out of retries. It checks the response against the
// contract and decodes it into out.
func (c *Client) do(ctx context.Context, r request, out any, options []RequestOption) (http.Header, error) {
	body, header, err := c.prepare(r, options)
	if err != nil {
		return nil, err
	}
	var limited error // of an earlier attempt
	for try := 0; ; try++ {
		answered, err := c.try(ctx, r, body, header, out)
		if err == nil {
			return answered, nil
		}
		pause, again := again(r, err, try)
		var gone *lost
		switch {
		case RateLimited(err):
			limited = err
		case limited != nil && errors.As(err, &gone):
			err = fmt.Errorf("%w, after %w", err, limited) // the wait for the limit must not make it a service that is unavailable
		}
		if !again || try >= c.retries || ctx.Err() != nil {
			return nil, err
		}
		if c.waits(ctx, pause) != nil {
			return nil, err // the refusal says more than the deadline
		}
	}
}

func (c *Client) prepare(r request, options []RequestOption) ([]byte, http.Header, error) {
	header := http.Header{}
	header.Set("Authorization", "Bearer "+c.key)
	header.Set("Accept", "application/json")
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, nil, fmt.Errorf("countersign: the body of %s %s: %w", r.method, r.path, err)
		}
		header.Set("Content-Type", "application/json")
	}
	for _, option := range options {
		option(header)
	}
	if r.keyed && header.Get("Idempotency-Key") == "" {
		header.Set("Idempotency-Key", rand.Text())
	}
	return body, header, nil
}

func (c *Client) try(ctx context.Context, r request, body []byte, header http.Header, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("countersign: %w", err)
	}
	req.Header = header.Clone()
	res, err := c.http.Do(req)
	if err != nil {
		return nil, &lost{fmt.Errorf("countersign: %s %s: %w", r.method, r.path, err)}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := read(r, res)
	if err != nil && ctx.Err() != nil && !RateLimited(err) {
		return nil, &lost{fmt.Errorf("countersign: %s %s: %w", r.method, r.path, err)}
	}
	if err != nil {
		return nil, err
	}
	if err := understand(r, res, text, out); err != nil {
		return nil, err
	}
	return res.Header, nil
}

// one sends a call that returns one object.
func one[T any](ctx context.Context, c *Client, r request, options []RequestOption) (*T, error) {
	out := new(T)
	if _, err := c.do(ctx, r, out, options); err != nil {
		return nil, err
	}
	return out, nil
}

// optional is a body that may be left out: a nil pointer is none.
func optional[T any](body *T) any {
	if body == nil {
		return nil
	}
	return body
}

// path puts arguments into the places of a template, escaped.
func path(template string, arguments ...any) string {
	for _, a := range arguments {
		before, rest, _ := strings.Cut(template, "{")
		_, after, _ := strings.Cut(rest, "}")
		template = before + url.PathEscape(fmt.Sprint(a)) + after
	}
	return template
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
