package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// Limits of one attempt. docs/events.md documents them.
const (
	connectTimeout = 5 * time.Second
	sendTimeout    = 15 * time.Second // until the response headers are complete
	bodyTimeout    = 2 * time.Second  // for the response body after that; the status already decides the outcome
	bodyCap        = 64 << 10         // bytes of the response body that are read, for its digest
	headerCap      = 16 << 10         // bytes of the response headers
)

// Sender sends webhook requests over HTTP. It has no cookies, follows no redirect, uses no proxy, decompresses nothing, and
// checks every address against its policy before it connects. It is safe for concurrent use.
type Sender struct {
	policy Policy
	client *http.Client
}

// NewSender returns a sender that is restricted by the policy.
func NewSender(p Policy) *Sender { return newSender(p, &net.Resolver{PreferGo: true}, nil) }

// newSender is NewSender with a resolver and TLS settings of tests. It uses Go's resolver: the system's may not honour the
// deadline of the context.
func newSender(p Policy, resolver *net.Resolver, tlsConfig *tls.Config) *Sender {
	if tlsConfig == nil {
		tlsConfig = &tls.Config{}
	}
	tlsConfig.MinVersion = tls.VersionTLS12
	return &Sender{policy: p, client: &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: p.dialer(resolver).DialContext, TLSClientConfig: tlsConfig, TLSHandshakeTimeout: connectTimeout,
			DisableCompression: true, MaxResponseHeaderBytes: headerCap, ResponseHeaderTimeout: sendTimeout,
			MaxIdleConnsPerHost: concurrency, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// AttemptResult is the outcome of one attempt to send a message.
type AttemptResult struct {
	Succeeded  bool          // the response was 2xx
	StatusCode int           // 0 without a response
	Latency    time.Duration // until the response headers, or until the attempt was given up
	Digest     string        // of the part of the response body that was read; empty without a body
	Error      string        // one of the Error constants or "status_<code>"; empty for a success
	RetryAfter time.Duration // as the receiver requested; 0 if it did not
	Gone       bool          // 410: the endpoint must be disabled
	Abort      bool          // the receiver rejects this message; it is not retried
}

// The error codes of an attempt. They are part of the contract. A response other than 2xx is "status_<code>".
const (
	ErrorTimeout   = "timeout"
	ErrorAddress   = "address_refused"
	ErrorDNS       = "dns"
	ErrorConnect   = "connection_failed"
	ErrorTLS       = "tls"
	ErrorRedirect  = "redirect"
	ErrorURL       = "url_refused"
	ErrorResponse  = "answer_invalid"
	statusErrorFor = "status_"
)

var errRefused = errors.New("webhook: address refused")

// Message is the content of one request, which Send signs.
type Message struct {
	URL     string
	ID      string    // the webhook-id header: the id of the event, the same in every attempt
	At      time.Time // the webhook-timestamp header: the time of this attempt
	Body    []byte
	Secrets [][]byte // one signature is sent per secret; without a secret the request is not signed
}

// Send makes one attempt. It reports every failure in its result and takes at most sendTimeout and bodyTimeout together.
func (s *Sender) Send(ctx context.Context, m Message) AttemptResult {
	start := time.Now() //nolint:forbidigo // measures the duration of the attempt
	o := s.send(ctx, m, start)
	if o.Latency == 0 {
		o.Latency = time.Since(start)
	}
	return o
}

// send makes the request. Its result has no latency if there was no response.
func (s *Sender) send(ctx context.Context, m Message, start time.Time) AttemptResult {
	if s.policy.CheckURL(m.URL) != "" {
		return AttemptResult{Error: ErrorURL}
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, strings.NewReader(string(m.Body)))
	if err != nil {
		return AttemptResult{Error: ErrorURL}
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"Countersign-Webhooks/1"}, "Accept-Encoding": {"identity"},
		headerID: {m.ID}, headerTimestamp: {strconv.FormatInt(m.At.Unix(), 10)},
	}
	if parent := tracing.Parent(ctx); parent != "" {
		req.Header.Set("traceparent", parent)
	}
	if len(m.Secrets) > 0 {
		req.Header[headerSignature] = []string{sign(m.Secrets, m.ID, m.At, m.Body)}
	}
	res, err := s.client.Do(req)
	if err != nil {
		return AttemptResult{Error: ErrorCode(err)}
	}
	defer func() { _ = res.Body.Close() }()
	o := judge(res, m.At)
	o.Latency = time.Since(start)
	stop := time.AfterFunc(bodyTimeout, cancel)
	defer stop.Stop()
	o.Digest = digestOf(res.Body)
	return o
}

// digestOf returns the digest of the first bodyCap bytes of the body, or of the part that arrives within bodyTimeout. A body
// that breaks off does not make the attempt fail.
func digestOf(body io.Reader) string {
	raw, _ := io.ReadAll(io.LimitReader(body, bodyCap))
	if len(raw) == 0 {
		return ""
	}
	return canonical.DigestBytes(raw)
}

// judge evaluates the status and the headers of a response.
func judge(res *http.Response, now time.Time) AttemptResult {
	o := AttemptResult{StatusCode: res.StatusCode, Succeeded: res.StatusCode >= 200 && res.StatusCode < 300}
	if o.Succeeded {
		return o
	}
	o.Error = statusErrorFor + strconv.Itoa(res.StatusCode)
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		o.Error = ErrorRedirect
	}
	o.Gone = res.StatusCode == http.StatusGone
	o.Abort = o.Gone || res.Header.Get("webhook-delivery") == "abort-message"
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
		o.RetryAfter = RetryAfter(res.Header.Get("Retry-After"), now)
	}
	return o
}

// RetryAfter parses a Retry-After header, in seconds or as a date (RFC 9110, section 10.2.3), of at most maxRetryAfter; 0 if it is neither.
func RetryAfter(v string, now time.Time) time.Duration {
	if v != "" && strings.Trim(v, "0123456789") == "" {
		if n, err := strconv.ParseUint(v, 10, 31); err == nil {
			return min(time.Duration(n)*time.Second, maxRetryAfter)
		}
		return maxRetryAfter // longer than the number holds
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return min(at.Sub(now), maxRetryAfter)
	}
	return 0
}

// idleClosedMessage is the text of an unexported error of net/http: the receiver closed the connection before the request was
// sent.
const idleClosedMessage = "http: server closed idle connection"

// ErrorCode reduces an error to a code that the owner of the endpoint may see. It reveals nothing about our network.
func ErrorCode(err error) string {
	var (
		dns     *net.DNSError
		record  tls.RecordHeaderError
		cert    *tls.CertificateVerificationError
		alert   tls.AlertError
		op      *net.OpError
		timeout interface{ Timeout() bool }
	)
	switch {
	case errors.Is(err, errRefused):
		return ErrorAddress
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ErrorTimeout
	case errors.As(err, &dns):
		return ErrorDNS
	case errors.As(err, &record), errors.As(err, &cert), errors.As(err, &alert):
		return ErrorTLS
	case errors.As(err, &op), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		strings.HasSuffix(err.Error(), idleClosedMessage):
		return ErrorConnect
	default:
		return ErrorResponse
	}
}
