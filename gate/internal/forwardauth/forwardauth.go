// Package forwardauth responds to the authorization requests of proxies: nginx auth_request, Caddy forward_auth, Traefik ForwardAuth, and
// HAProxy with the Lua action of the recipe. Any 2xx lets the request through.
package forwardauth

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/countersign-dev/countersign/gate/internal/answer"
	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/request"
)

// AnswerHeader carries a response through nginx, which passes on no body of an authorization request.
const AnswerHeader = "Countersign-Answer"

// Handler serves / for proxies that pass on status, headers and body, /nginx for nginx, and /answer for the response that nginx fetches.
type Handler struct {
	Engine func() *decide.Engine
	Report func(r *http.Request, v decide.Verdict)
	Peer   func(r *http.Request) principal.Peer
}

// ServeHTTP responds to an authorization request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	engine := h.Engine()
	keys := engine.Config().State
	if r.URL.Path == "/answer" {
		write(w, answer.Carried(keys, r.Header.Get(AnswerHeader)))
		return
	}
	v := h.decide(engine, r)
	h.Report(r, v)
	if v.Passes() {
		if v.Proof != "" {
			w.Header().Set(request.ProofHeader, v.Proof)
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	a := answer.Of(v)
	if r.URL.Path == "/nginx" {
		a.Header = http.Header{AnswerHeader: {answer.Carry(keys, v)}}
		a.Body = nil
		if a.Status != http.StatusUnauthorized {
			a.Status = http.StatusForbidden
		}
	}
	write(w, a)
}

func write(w http.ResponseWriter, a answer.Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// forwarded are the headers by which a proxy describes the request. The proxy sets each, once.
var forwarded = []string{"X-Forwarded-Method", "X-Forwarded-Host", "X-Forwarded-Uri", "X-Forwarded-Proto"}

func (h *Handler) decide(engine *decide.Engine, r *http.Request) decide.Verdict {
	header := r.Header.Clone()
	described := map[string]string{}
	for _, name := range forwarded {
		values := header.Values(name)
		if len(values) != 1 || values[0] == "" {
			return decide.Verdict{Outcome: decide.Unavailable, Status: http.StatusServiceUnavailable, Code: "misconfigured",
				Detail: "The proxy must send " + name + ", once.", RetryAfter: 0}
		}
		described[name] = values[0]
		header.Del(name)
	}
	raw := request.Raw{
		Method: described["X-Forwarded-Method"], Host: described["X-Forwarded-Host"], Target: described["X-Forwarded-Uri"],
		Scheme: described["X-Forwarded-Proto"], Header: header, IP: client(header),
	}
	match, v := engine.Match(raw)
	if match == nil {
		return v
	}
	return engine.Decide(r.Context(), match, h.Peer(r))
}

// client is the address that the proxy adds last to X-Forwarded-For.
func client(header http.Header) netip.Addr {
	values := header.Values("X-Forwarded-For")
	if len(values) == 0 {
		return netip.Addr{}
	}
	list := strings.Split(values[len(values)-1], ",")
	ip, _ := netip.ParseAddr(strings.TrimSpace(list[len(list)-1]))
	return ip
}
