package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/gatetest"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// entrance is a way in: a proxy with its gate, or the gate inline, in front of an application.
type entrance struct {
	name     string
	port     int
	gate     *gatetest.Gate
	upstream *gatetest.Upstream
	issuer   *gatetest.Issuer
	host     string // of the routes, with the port
}

const host = "localhost"

// enter starts a way in. The service can be a stand-in address in front of the real one.
func enter(t testing.TB, name string, c gatetest.Config) *entrance {
	t.Helper()
	e := &entrance{name: name, upstream: gatetest.StartUpstream(t, "<p id=reached>released</p>"), issuer: c.Issuer}
	c.Mode, c.Upstream = gatetest.ModeOf(name), e.upstream.URL
	e.gate = gatetest.StartGate(t, c)
	if name == "inline" {
		e.port = e.gate.Inline
	} else {
		e.port = gatetest.StartProxy(t, name, e.upstream.Port, e.gate.ForwardAuth+e.gate.ExtAuthz).Port
	}
	e.host = fmt.Sprintf("%s:%d", host, e.port)
	return e
}

// call is one request of a client.
type call struct {
	method, path string
	header       map[string]string
	body         string
}

// response is the response that the client receives.
type response struct {
	status int
	header http.Header
	body   string
}

type problem struct {
	Code, Decision, State, Authorization string
	Challenge                            struct{ URL string }
}

func (r response) problem(t testing.TB) problem {
	t.Helper()
	var p problem
	require.NoError(t, json.Unmarshal([]byte(r.body), &p), "status %d, body %s", r.status, r.body)
	return p
}

var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (e *entrance) send(t testing.TB, c call) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, fmt.Sprintf("http://127.0.0.1:%d%s", e.port, c.path), strings.NewReader(c.body))
	require.NoError(t, err)
	req.Host = e.host
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return response{res.StatusCode, res.Header, string(body)}
}

// routes are one guarded route for each action, and one that is open.
func routes(actions map[string]string) string {
	var b strings.Builder
	for name, action := range actions {
		fmt.Fprintf(&b, `- {name: %s, hosts: [%s], methods: [GET, POST], path: "/%s/{id}", upstream: UPSTREAM, action: %s, audience: payments, resource: {type: payment, id: request.params.id}, context: {amount: "has(request.query.amount) ? request.query.amount : 'none'"}}`+"\n",
			name, host, name, action)
	}
	fmt.Fprintf(&b, `- {name: public, hosts: [%s], path: "/public/{rest...}", upstream: UPSTREAM, open: true}`+"\n", host)
	return b.String()
}

// ways are the proxies and the gate itself.
var ways = append([]string{"inline"}, gatetest.Proxies...)

// proven requires that exactly one request reached the application, with a proof that the service has consumed, once.
func (w world) proven(t testing.TB, e *entrance, method, target string) {
	t.Helper()
	reached := e.upstream.Take()
	require.Len(t, reached, 1, "requests that reached the application")
	require.Equal(t, method, reached[0].Method)
	require.Equal(t, target, reached[0].Target)
	require.Equal(t, e.host, reached[0].Host)
	require.Len(t, reached[0].Header.Values("Countersign-Proof"), 1)
	require.Empty(t, reached[0].Header.Values("Countersign-State"))
	v, err := w.VerifyProof(t.Context(), countersign.ProofVerifyRequest{Proof: reached[0].Header.Get("Countersign-Proof")})
	require.NoError(t, err)
	require.EqualValues(t, "consumed", v.Status)
}

func (e *entrance) untouched(t testing.TB) {
	t.Helper()
	require.Empty(t, e.upstream.Take(), "nothing reached the application")
}

// TestMatrix shows what reaches the application behind each proxy, in each state of the gate, the service and the request.
func TestMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	actions := map[string]string{"allow": w.action(t, "enforce", allowing), "challenge": w.action(t, "enforce", challenging), "hold": w.action(t, "enforce", holding),
		"deny": w.action(t, "enforce", denying), "test": w.action(t, "test", allowing), "shadow": w.action(t, "shadow", denying)}
	subject, other := w.subject(t), w.subject(t)
	issuer, forger := gatetest.StartIssuer(t), gatetest.StartIssuer(t)
	for _, name := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := enter(t, name, gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: routes(actions)})
			token := "Bearer " + issuer.Token(t, subject, nil)
			signed := map[string]string{"Authorization": token}

			t.Run("allow", func(t *testing.T) {
				r := e.send(t, call{"POST", "/allow/4711?amount=10", signed, "x=1"})
				require.Equal(t, 200, r.status, r.body)
				w.proven(t, e, "POST", "/allow/4711?amount=10")
			})
			t.Run("open", func(t *testing.T) {
				require.Equal(t, 200, e.send(t, call{"GET", "/public/a", nil, ""}).status)
				require.Len(t, e.upstream.Take(), 1)
			})
			t.Run("challenge", func(t *testing.T) {
				r := e.send(t, call{"POST", "/challenge/4711?amount=10", signed, ""})
				require.Equal(t, 401, r.status, r.body)
				require.Equal(t, `Countersign error="challenge_required"`, r.header.Get("WWW-Authenticate"))
				p := r.problem(t)
				require.Equal(t, "challenge", p.Decision)
				e.untouched(t)
				state := func(path, token string) response {
					return e.send(t, call{"POST", path, map[string]string{"Authorization": token, "Countersign-State": p.State}, ""})
				}
				require.Equal(t, 401, state("/challenge/4711?amount=10", token).status, "before the person has confirmed")
				w.confirm(t, p.Authorization)
				require.Equal(t, 403, state("/challenge/4711?amount=99", token).status, "for a different amount")
				require.Equal(t, 403, state("/challenge/4712?amount=10", token).status, "for a different payment")
				require.Equal(t, 403, state("/hold/4711?amount=10", token).status, "on a different route")
				require.Equal(t, 403, state("/challenge/4711?amount=10", "Bearer "+issuer.Token(t, other, nil)).status, "for a different person")
				e.untouched(t)
				require.Equal(t, 200, state("/challenge/4711?amount=10", token).status)
				w.proven(t, e, "POST", "/challenge/4711?amount=10")
				again := state("/challenge/4711?amount=10", token)
				require.Equal(t, 409, again.status)
				require.Equal(t, "proof_used", again.problem(t).Code)
				e.untouched(t)
			})
			t.Run("hold", func(t *testing.T) {
				r := e.send(t, call{"POST", "/hold/4711", signed, ""})
				require.Equal(t, 403, r.status, r.body)
				require.NotEmpty(t, r.header.Get("Retry-After"))
				p := r.problem(t)
				require.Equal(t, "hold", p.Decision)
				e.untouched(t)
				_, err := w.ReviewAuthorization(t.Context(), p.Authorization, countersign.ManualReviewRequest{Resolution: "approve"})
				require.NoError(t, err)
				r = e.send(t, call{"POST", "/hold/4711", map[string]string{"Authorization": token, "Countersign-State": p.State}, ""})
				require.Equal(t, 200, r.status, r.body)
				w.proven(t, e, "POST", "/hold/4711")
			})
			t.Run("rejected hold", func(t *testing.T) {
				p := e.send(t, call{"POST", "/hold/4713", signed, ""}).problem(t)
				_, err := w.ReviewAuthorization(t.Context(), p.Authorization, countersign.ManualReviewRequest{Resolution: "reject"})
				require.NoError(t, err)
				r := e.send(t, call{"POST", "/hold/4713", map[string]string{"Authorization": token, "Countersign-State": p.State}, ""})
				require.Equal(t, 403, r.status)
				require.Equal(t, "not_approved", r.problem(t).Code)
				e.untouched(t)
			})
			t.Run("shadow", func(t *testing.T) {
				require.Equal(t, 200, e.send(t, call{"POST", "/shadow/4711", signed, ""}).status)
				reached := e.upstream.Take()
				require.Len(t, reached, 1)
				require.Empty(t, reached[0].Header.Values("Countersign-Proof"))
			})
			for name, c := range map[string]struct {
				path   string
				header map[string]string
				status int
			}{
				"deny":           {"/deny/4711", signed, 403},
				"no proof":       {"/test/4711", signed, 503},
				"no token":       {"/allow/4711", nil, 401},
				"forged token":   {"/allow/4711", map[string]string{"Authorization": "Bearer " + forger.Token(t, subject, map[string]any{"iss": issuer.URL})}, 401},
				"expired token":  {"/allow/4711", map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, map[string]any{"exp": 1})}, 401},
				"foreign state":  {"/allow/4711", map[string]string{"Authorization": token, "Countersign-State": "YXpuXzEuMTk5OTk5OTk5OQ.AAAA"}, 403},
				"unknown person": {"/allow/4711", map[string]string{"Authorization": "Bearer " + issuer.Token(t, "nobody", nil)}, 403},
				"unknown route":  {"/other", signed, 403},
				"other case":     {"/Allow/4711", signed, 403},
				"ambiguous path": {"/public/..%2fallow/4711", signed, 400},
				"bad parameter":  {"/allow/4711?amount=1&amount=2", signed, 400},
			} {
				t.Run(name, func(t *testing.T) {
					r := e.send(t, call{"POST", c.path, c.header, ""})
					require.Equal(t, c.status, r.status, r.body)
					if r.body != "" { // some proxies refuse a request themselves
						require.NotContains(t, r.body, "released")
					}
					e.untouched(t)
				})
			}
			t.Run("foreign proof", func(t *testing.T) {
				r := e.send(t, call{"GET", "/public/a", map[string]string{"Countersign-Proof": "a.b.c", "Countersign-Anything": "x"}, ""})
				for _, reached := range e.upstream.Take() {
					require.Empty(t, reached.Header.Values("Countersign-Proof"))
					require.Empty(t, reached.Header.Values("Countersign-Anything"))
				}
				require.Contains(t, []int{200, 400}, r.status)
			})
			if name == "inline" {
				return // the gate is the proxy
			}
			t.Run("gate unavailable", func(t *testing.T) {
				e.gate.Stop()
				for _, path := range []string{"/allow/4711", "/public/a"} {
					r := e.send(t, call{"POST", path, signed, ""})
					require.GreaterOrEqual(t, r.status, 500)
					e.untouched(t)
				}
			})
		})
	}
}

// TestMatrixWithoutTheService shows what reaches the application while the service is unavailable, slow, or not the service.
func TestMatrixWithoutTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	actions := map[string]string{"allow": w.action(t, "enforce", allowing)}
	subject := w.subject(t)
	issuer := gatetest.StartIssuer(t)
	unused := fmt.Sprintf("http://127.0.0.1:%d", gatetest.FreePort(t))
	service, err := url.Parse(shared.url)
	require.NoError(t, err)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	lying := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(service) }, ModifyResponse: func(res *http.Response) error {
			if r.URL.Path == "/api/v1/verify" { // nothing is consumed
				text := `{"valid": true, "status": "consumed", "reason_codes": [], "claims": null}`
				res.Body, res.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
				res.Header.Del("Content-Length")
				res.StatusCode = 200
			}
			return nil
		}}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(lying.Close)
	for _, name := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for state, address := range map[string]string{"unavailable": unused, "slow": "http://" + silent.Addr().String(), "portal": issuer.URL, "lying": lying.URL} {
				t.Run(state, func(t *testing.T) {
					timeout := "20s"
					if state != "lying" {
						timeout = "300ms"
					}
					e := enter(t, name, gatetest.Config{ServiceURL: address, Key: w.gate, Issuer: issuer, Routes: routes(actions), Timeout: timeout})
					r := e.send(t, call{"POST", "/allow/4711", map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, nil)}, ""})
					require.Equal(t, 503, r.status, r.body)
					e.untouched(t)
				})
			}
		})
	}
}

// confirm completes the challenge of an authorization as its person.
func (w world) confirm(t testing.TB, authorization string) {
	t.Helper()
	a, err := w.GetAuthorization(t.Context(), authorization)
	require.NoError(t, err)
	require.NoError(t, w.complete(t, a.Challenge.ID))
}

// complete completes a challenge in the sandbox. On a loaded machine the service can be without Temporal for a while.
func (w world) complete(t testing.TB, challenge string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := w.CompleteChallenge(ctx, challenge, countersign.ChallengeCompleteRequest{Method: "sandbox_confirm"})
		if !countersign.Unavailable(err) || ctx.Err() != nil {
			return err
		}
	}
}
