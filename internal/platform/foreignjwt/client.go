// Package foreignjwt reads JWTs that others issue and verifies them with the keys that the issuers publish. It holds sizes, form, type and claims
// to their bounds before any of them costs a signature, fetches keys with bounded requests, and lets keys that were withdrawn end.
package foreignjwt

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
)

const (
	// maxResponse is the size of an issuer's response that is read, in bytes.
	maxResponse = 1 << 20
	// requestWithin bounds one request to an issuer, with its body.
	requestWithin = 5 * time.Second
	// keysAge is how long a fetched document is used again. A token with an unknown key id makes this package fetch the keys; forged
	// tokens must not become requests to the issuer.
	keysAge = 10 * time.Second
	// MaxDocuments bounds the documents that are stored at a time.
	MaxDocuments = 100
)

var errAddress = errors.New("foreignjwt: the URL is not allowed")

// Client returns the client with limits on time, size and repetition of requests. It follows no redirect. check returns a sentence that says why a
// URL may not be requested; empty if it may.
func Client(c *http.Client, check func(string) string, now clock.Clock) *http.Client {
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return &http.Client{
		Transport:     &transport{next: next, check: check, clock: now, documents: map[string]document{}},
		Timeout:       requestWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// transport checks the URL of every request, limits the size of responses and repeats recent public documents.
type transport struct {
	next  http.RoundTripper
	check func(string) string
	clock clock.Clock

	mu        sync.Mutex
	documents map[string]document
}

// document is the body of a successful GET without credentials.
type document struct {
	header http.Header
	body   []byte
	at     time.Time
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	// The dialer checks addresses; this check adds the scheme, so that a secret or a code is never sent in plain text.
	if t.check(req.URL.String()) != "" {
		return nil, errAddress
	}
	public := req.Method == http.MethodGet && req.Header.Get("Authorization") == ""
	if public {
		if d, ok := t.recent(req.URL.String()); ok {
			return d.response(req), nil
		}
	}
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if public && res.StatusCode == http.StatusOK {
		t.keep(req.URL.String(), document{header: res.Header, body: body, at: t.clock.Now()})
	}
	return res, nil
}

// recent returns the stored document of an address unless it is older than keysAge. A forged token names a key that is not
// there; without this, each would cause a request to the provider.
func (t *transport) recent(url string) (document, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.documents[url]
	return d, ok && t.clock.Now().Sub(d.at) < keysAge
}

// keep stores a document. When there are MaxDocuments it forgets all, which costs one request each and bounds the memory.
func (t *transport) keep(url string, d document) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.documents) >= MaxDocuments {
		clear(t.documents)
	}
	t.documents[url] = d
}

// response returns the document as the provider's response to a request.
func (d document) response(req *http.Request) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, Header: d.header.Clone(),
		Body: io.NopCloser(bytes.NewReader(d.body)), ContentLength: int64(len(d.body)),
	}
}
