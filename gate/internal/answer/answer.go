// Package answer renders the response to a request that does not pass: a problem (RFC 9457) for programs, a page or a redirect for people.
// No status of it is 2xx, which proxies take for an allow.
package answer

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/state"
)

// Answer is a response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// problem is the body for programs.
type problem struct {
	Type          string     `json:"type"`
	Title         string     `json:"title"`
	Status        int        `json:"status"`
	Detail        string     `json:"detail"`
	Code          string     `json:"code"`
	Decision      string     `json:"decision,omitempty"`
	Authorization string     `json:"authorization,omitempty"`
	Challenge     *challenge `json:"challenge,omitempty"`
	State         string     `json:"state,omitempty"`
	RetryAfter    int        `json:"retry_after,omitempty"` // seconds
}

type challenge struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

var titles = map[decide.Outcome]string{
	decide.Challenge: "Confirm this request", decide.Hold: "This request waits for approval", decide.Deny: "This request is not allowed",
	decide.Unauthenticated: "Sign in first", decide.Refused: "This request was refused", decide.Unavailable: "No decision at the moment",
	decide.Returned: "Back",
}

// Of returns the response to a verdict that does not pass.
func Of(v decide.Verdict) Answer {
	a := Answer{Status: v.Status, Header: http.Header{"Cache-Control": {"no-store"}}}
	if a.Status < http.StatusMultipleChoices {
		a.Status = http.StatusServiceUnavailable // a fault of the gate must not be read as an allow
	}
	a.authenticate(v)
	if v.RetryAfter > 0 {
		a.Header.Set("Retry-After", strconv.Itoa(seconds(v.RetryAfter)))
	}
	if v.Outcome == decide.Returned {
		a.cookie(v)
		a.Header.Set("Location", v.Origin+v.Location)
		return a
	}
	if v.Browser && v.Outcome == decide.Challenge && v.Safe {
		a.Status = http.StatusSeeOther
		a.Header.Set("Location", v.Link)
		a.Header.Del("WWW-Authenticate")
		a.Header.Set("Referrer-Policy", "no-referrer")
		return a
	}
	if v.Browser {
		a.page(v)
		return a
	}
	body := problem{Type: "about:blank", Title: titles[v.Outcome], Status: a.Status, Detail: v.Detail, Code: v.Code, Authorization: v.Authorization,
		State: v.State, RetryAfter: seconds(v.RetryAfter)}
	switch v.Outcome {
	case decide.Challenge, decide.Hold, decide.Deny:
		body.Decision = string(v.Outcome)
	}
	if v.Link != "" {
		body.Challenge = &challenge{v.Link, v.Expires.UTC()}
	}
	a.Header.Set("Content-Type", "application/problem+json")
	a.Body, _ = json.Marshal(body) // of texts and numbers
	return a
}

// authenticate adds WWW-Authenticate, which every 401 has. A client that understands RFC 9470 logs in again only if that can help.
func (a *Answer) authenticate(v decide.Verdict) {
	switch {
	case v.Outcome == decide.Challenge && v.Login != nil:
		a.Header.Set("WWW-Authenticate", v.Login.WWWAuthenticate())
	case v.Outcome == decide.Challenge:
		a.Header.Set("WWW-Authenticate", `Countersign error="challenge_required"`)
	case v.Code == "invalid_token":
		a.Header.Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	case v.Outcome == decide.Unauthenticated:
		a.Header.Set("WWW-Authenticate", "Bearer")
	}
}

// cookie sets the cookie with the state, which the browser sends with the same request later.
func (a *Answer) cookie(v decide.Verdict) {
	path, _, _ := strings.Cut(v.Location, "?")
	if path == "" {
		path = "/"
	}
	// #nosec G124 -- Secure is that of the request
	c := http.Cookie{Name: v.Cookie, Value: v.State, Path: path, MaxAge: seconds(v.StateTTL), Secure: v.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	a.Header.Add("Set-Cookie", c.String())
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// page renders a page for a person. The cookie lets the same form continue when it is sent again.
func (a *Answer) page(v decide.Verdict) {
	if v.State != "" {
		a.cookie(v)
	}
	var b strings.Builder
	data := struct {
		Title, Detail, Link, Authorization string
		Reload                             int
	}{Title: titles[v.Outcome], Detail: v.Detail, Authorization: v.Authorization}
	switch {
	case v.Outcome == decide.Challenge:
		data.Link, data.Detail = v.Link, "Confirm on the page that this link opens. Then come back here and send the form again, unchanged."
	case v.Outcome == decide.Hold && v.Safe:
		data.Detail, data.Reload = "A reviewer must approve it. This page looks again by itself.", seconds(v.RetryAfter)
	case v.Outcome == decide.Hold:
		data.Detail = "A reviewer must approve it. Send the form again later, unchanged."
	}
	if err := page.Execute(&b, data); err != nil {
		b.WriteString(data.Title)
	}
	a.Header.Set("Content-Type", "text/html; charset=utf-8")
	a.Header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	a.Header.Set("Referrer-Policy", "no-referrer")
	a.Body = []byte(b.String())
}

const purpose = "answer"

// Carry returns a verdict as a text that a proxy hands back unread.
func Carry(keys state.Keys, v decide.Verdict) string {
	text, _ := json.Marshal(v) // of texts and numbers
	return keys.Sign(purpose, string(text))
}

// Carried returns the response to a verdict that Carry made; any other text is refused.
func Carried(keys state.Keys, text string) Answer {
	var v decide.Verdict
	raw, err := keys.Verify(purpose, text)
	if err == nil {
		err = json.Unmarshal([]byte(raw), &v)
	}
	if err != nil || v.Passes() || !local(v.Location) {
		v = decide.Verdict{Outcome: decide.Unavailable, Status: http.StatusServiceUnavailable, Code: "unavailable", Detail: "The request cannot be authorized at the moment.", RetryAfter: 2 * time.Second}
	}
	return Of(v)
}

// local reports whether a location is a path of the same host.
func local(location string) bool {
	u, err := url.Parse(location)
	return err == nil && u.Host == "" && u.Scheme == ""
}
