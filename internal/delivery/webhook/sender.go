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
)

// What one try may take.
const (
	connectTimeout = 5 * time.Second
	sendTimeout    = 15 * time.Second // until the status line and headers are there
	bodyTimeout    = 2 * time.Second  // for the body after that: the status has decided already
	bodyCap        = 64 << 10         // bytes of the body that are read, for its digest
	headerCap      = 16 << 10
)

// Sender makes the HTTP requests. It keeps no cookies, follows no redirect, uses no proxy, decompresses nothing, and asks
// its policy about every address before it connects.
type Sender struct {
	policy Policy
	client *http.Client
}

// NewSender makes a sender under a policy.
func NewSender(p Policy) *Sender { return newSender(p, &net.Resolver{PreferGo: true}, nil) }

func newSender(p Policy, resolver *net.Resolver, tlsConfig *tls.Config) *Sender {
	if tlsConfig == nil {
		tlsConfig = &tls.Config{}
	}
	tlsConfig.MinVersion = tls.VersionTLS12
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second, Resolver: resolver, Control: p.control}
	return &Sender{policy: p, client: &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer.DialContext, TLSClientConfig: tlsConfig, TLSHandshakeTimeout: connectTimeout,
			DisableCompression: true, MaxResponseHeaderBytes: headerCap, ResponseHeaderTimeout: sendTimeout,
			MaxIdleConnsPerHost: concurrency, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close lets idle connections go.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Outcome is what became of one try.
type AttemptResult struct {
	Succeeded  bool          // the receiver answered 2xx
	StatusCode int           // 0 where there was no answer
	Latency    time.Duration // until the status was there, or the try was given up
	Digest     string        // of what was read of the answer's body; empty where there was none
	Error      string        // a word; empty for a success
	RetryAfter time.Duration // as the receiver asked, 0 where it did not
	Gone       bool          // 410: the endpoint wants nothing more
	Abort      bool          // the receiver asked not to be sent this message again
}

// The words of Outcome.Error; a status that is not 2xx is "status_<code>".
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

// Message is one signed request.
type Message struct {
	URL     string
	ID      string // webhook-id: the event's, the same at every try
	At      time.Time
	Body    []byte
	Secrets [][]byte
}

// Send makes one try and never takes longer than its deadlines.
func (s *Sender) Send(ctx context.Context, m Message) AttemptResult {
	start := time.Now() //nolint:forbidigo // measures how long the try took
	o := s.send(ctx, m, start)
	if o.Latency == 0 {
		o.Latency = time.Since(start)
	}
	return o
}

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
		headerID: {m.ID}, headerTimestamp: {strconv.FormatInt(m.At.Unix(), 10)}, headerSignature: {sign(m.Secrets, m.ID, m.At, m.Body)},
	}
	res, err := s.client.Do(req)
	if err != nil {
		return AttemptResult{Error: errorCode(err)}
	}
	defer func() { _ = res.Body.Close() }()
	o := judge(res, m.At)
	o.Latency = time.Since(start)
	stop := time.AfterFunc(bodyTimeout, cancel)
	defer stop.Stop()
	o.Digest = digestOf(res.Body)
	return o
}

// digestOf reads at most answerCap bytes, in what time is left, and digests them.
func digestOf(body io.Reader) string {
	raw, _ := io.ReadAll(io.LimitReader(body, bodyCap))
	if len(raw) == 0 {
		return ""
	}
	return canonical.DigestBytes(raw)
}

// judge reads the status and the headers that speak to the sender.
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
		o.RetryAfter = retryAfter(res.Header.Get("Retry-After"), now)
	}
	return o
}

// retryAfter reads both forms of the header; 0 for neither.
func retryAfter(v string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// What net/http says, in words alone, of a receiver that hung up before the request was on its way.
const idleClosedMessage = "http: server closed idle connection"

// word reduces an error to what an endpoint's owner may know: nothing of our network.
func errorCode(err error) string {
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
