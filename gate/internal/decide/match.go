package decide

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/request"
	"github.com/countersign-dev/countersign/gate/internal/route"
)

// ReturnPath is the path of each guarded host that the hosted page sends a browser back to.
const ReturnPath = "/.well-known/countersign/return"

// Match is a request with its route.
type Match struct {
	Request *request.Request
	Route   *config.Route
	Host    string // as the client sent it, with its port
	params  map[string]string
}

// ReadsBody reports whether Decide needs the body of the request.
func (m *Match) ReadsBody() bool { return m.Route.Mapping != nil && m.Route.Mapping.Reads.Body }

// Match finds the route of a request. The verdict is a refusal if the match is nil.
func (e *Engine) Match(raw request.Raw) (*Match, Verdict) {
	raw.Secret = e.config.Header != nil && len(e.config.Header.Secret) > 0
	r, err := request.Parse(raw)
	var ambiguous *request.Refusal
	if errors.As(err, &ambiguous) {
		return nil, refused(http.StatusBadRequest, "ambiguous_request", ambiguous.Detail)
	}
	m := &Match{Request: r, Host: raw.Host}
	if r.Path.Canonical == ReturnPath {
		return nil, e.comeBack(m)
	}
	index, params, err := e.config.Table.Find(r)
	var unknown *route.Refusal
	if errors.As(err, &unknown) {
		return nil, refused(http.StatusForbidden, unknown.Code, unknown.Detail)
	}
	m.Route, m.params = e.config.Routes[index], params
	return m, Verdict{}
}

// comeBack sends a browser that returns from the hosted page to the address that it asked for, with the state in a cookie.
func (e *Engine) comeBack(m *Match) Verdict {
	token, _, err := m.Request.Parameter("r")
	if err == nil {
		token, err = e.config.State.Verify("return", token)
	}
	parts := strings.Split(token, "\n")
	if err != nil || len(parts) != 4 || parts[0] != m.Request.Host {
		return refused(http.StatusForbidden, "return_invalid", "The link back is not of this gate. Open the page again.")
	}
	return Verdict{Outcome: Returned, Status: http.StatusSeeOther, Cookie: parts[1], State: parts[2], Origin: origin(m), Location: parts[3],
		StateTTL: e.config.StateTTL, Secure: m.Request.Scheme == "https"}
}

// returnURL is the address that the hosted page links to in the end.
func (e *Engine) returnURL(m *Match, cookie, state string) string {
	token := e.config.State.Sign("return", strings.Join([]string{m.Request.Host, cookie, state, m.Request.Target()}, "\n"))
	return origin(m) + ReturnPath + "?" + url.Values{"r": {token}}.Encode()
}

// origin is that of the application, as the client sees it.
func origin(m *Match) string {
	u := url.URL{Scheme: m.Request.Scheme, Host: m.Host}
	return u.String()
}

// browser reports whether a person looks at the response: a page that is navigated to, or a form that is sent.
func browser(r *request.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
		return false
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }
