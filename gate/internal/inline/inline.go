// Package inline is a reverse proxy that decides before it forwards. What it forwards is built from what it matched: method, canonical path,
// host, headers of the client without those of Countersign, and the body that the mapping read.
package inline

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/gate/internal/answer"
	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/request"
)

// Handler decides and forwards. Make it with New.
type Handler struct {
	engine func() *decide.Engine
	report func(r *http.Request, v decide.Verdict)
	peer   func(r *http.Request) principal.Peer
	proxy  *httputil.ReverseProxy
}

// passed is a request that is forwarded.
type passed struct {
	match *decide.Match
	proof string
}

type passedKey struct{}

// New returns the handler. The transport reaches the upstreams.
func New(engine func() *decide.Engine, report func(*http.Request, decide.Verdict), peer func(*http.Request) principal.Peer, transport http.RoundTripper, log *slog.Logger) *Handler {
	h := &Handler{engine: engine, report: report, peer: peer}
	h.proxy = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: transport, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			write(w, answer.Of(decide.Verdict{Outcome: decide.Unavailable, Status: http.StatusBadGateway, Code: "upstream_unavailable",
				Detail: "The request was authorized, and the application did not respond. Its approval is used."}))
		},
	}
	return h
}

// ServeHTTP decides and forwards one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	engine := h.engine()
	peer := h.peer(r)
	ip, scheme := origin(r, peer.IP, engine.Config().TrustedProxies)
	header := r.Header.Clone()
	header.Del("X-Forwarded-For")
	if len(r.TransferEncoding) == 0 && r.Header.Get("Upgrade") == "" && r.ContentLength == 0 {
		r.Body = http.NoBody
	}
	raw := request.Raw{Method: r.Method, Target: r.RequestURI, Host: r.Host, Scheme: scheme, Header: header, IP: ip, Rewritten: true, Removes: true}
	match, v := engine.Match(raw)
	if match != nil {
		if match.ReadsBody() {
			match.Request.Body = read(r, int64(engine.Config().Limits.BodyBytes))
		}
		v = engine.Decide(r.Context(), match, peer)
	}
	h.report(r, v)
	if match == nil || !v.Passes() {
		write(w, answer.Of(v))
		return
	}
	if match.ReadsBody() {
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(match.Request.Body.Text)), int64(len(match.Request.Body.Text)), nil
	}
	h.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passedKey{}, passed{match, v.Proof})))
}

// read returns the body of a route whose mapping reads it.
func read(r *http.Request, limit int64) request.Body {
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	return request.Body{Text: text, Whole: err == nil && int64(len(text)) <= limit && len(text) > 0}
}

// rewrite builds the request for the upstream.
func rewrite(pr *httputil.ProxyRequest) {
	p := pr.In.Context().Value(passedKey{}).(passed)
	request.RemoveOwn(pr.Out.Header)
	for _, name := range []string{"Forwarded", "X-Forwarded-Method", "X-Forwarded-Uri"} {
		pr.Out.Header.Del(name)
	}
	r := p.match.Request
	upstream := p.match.Route.Upstream
	path, _ := url.PathUnescape(r.Path.Canonical)
	pr.Out.URL = &url.URL{Scheme: upstream.Scheme, Host: upstream.Host, Path: path, RawPath: r.Path.Canonical, RawQuery: r.RawQuery}
	pr.Out.Host = p.match.Host
	if request.Enforced(request.RuleTrailers) {
		pr.Out.Trailer = nil
		pr.Out.Header.Del("Trailer")
	}
	pr.SetXForwarded()
	pr.Out.Header.Set("X-Forwarded-For", r.IP.String())
	pr.Out.Header.Set("X-Forwarded-Proto", r.Scheme)
	if p.proof != "" {
		pr.Out.Header.Set(request.ProofHeader, p.proof)
	}
}

// origin returns the client's address and scheme, as the last trusted proxy reports them.
func origin(r *http.Request, peer netip.Addr, trusted []netip.Prefix) (netip.Addr, string) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	in := func(ip netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
	}
	ip := peer
	if !in(ip) {
		return ip, scheme
	}
	if proto := r.Header.Values("X-Forwarded-Proto"); len(proto) == 1 && (proto[0] == "http" || proto[0] == "https") {
		scheme = proto[0]
	}
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(list) - 1; i >= 0 && in(ip); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(list[i]))
		if err != nil {
			break
		}
		ip = next
	}
	return ip, scheme
}

func write(w http.ResponseWriter, a answer.Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// PeerIP is the address of the other end of a connection.
func PeerIP(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip, _ := netip.ParseAddr(host)
	return ip
}
