package decide

import (
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// Outcome says how a request ends.
type Outcome string

// The outcomes. A request passes with the first three and with no other.
const (
	Allow           Outcome = "allow"
	Open            Outcome = "open"   // the route needs no decision
	Shadow          Outcome = "shadow" // of the route or of the action: the decision has no effect
	Challenge       Outcome = "challenge"
	Hold            Outcome = "hold"
	Deny            Outcome = "deny"
	Unauthenticated Outcome = "unauthenticated"
	Refused         Outcome = "refused"     // by the gate: ambiguous, unknown, used, or not for this request
	Unavailable     Outcome = "unavailable" // no decision
	Returned        Outcome = "returned"    // a browser that comes back from the hosted page
)

// Verdict is the result for one request. Its JSON carries a refusal through a proxy that passes on no body.
type Verdict struct {
	Outcome       Outcome                `json:"o"`
	Status        int                    `json:"s,omitempty"` // of the response, unless the request passes
	Code          string                 `json:"c,omitempty"` // stable name
	Detail        string                 `json:"d,omitempty"` // sentence for the client
	Authorization string                 `json:"a,omitempty"`
	Link          string                 `json:"l,omitempty"` // of the hosted page
	Expires       time.Time              `json:"e,omitzero"`  // of the challenge
	State         string                 `json:"t,omitempty"`
	Cookie        string                 `json:"k,omitempty"` // name of the cookie that carries the state
	StateTTL      time.Duration          `json:"m,omitempty"`
	RetryAfter    time.Duration          `json:"r,omitempty"`
	Login         *protect.LoginRequired `json:"w,omitempty"` // of Challenge, if a new login can take its place
	Origin        string                 `json:"h,omitempty"` // of Returned: Traefik resolves a relative address by that of the gate
	Location      string                 `json:"u,omitempty"` // of Returned, below Origin
	Browser       bool                   `json:"b,omitempty"` // a page is navigated to, or a form is sent
	Safe          bool                   `json:"f,omitempty"` // the method is GET or HEAD
	Secure        bool                   `json:"x,omitempty"` // the scheme is https

	Route     string    `json:"-"` // empty if none is found
	Would     Outcome   `json:"-"` // of Shadow: what the decision is
	Proof     string    `json:"-"` // of Allow
	Challenge string    `json:"-"` // of Challenge: its id
	Asked     time.Time `json:"-"` // when the authorization was asked for, if it may be that of an earlier request
	Reason    error     `json:"-"` // for the log
}

// Passes reports whether the request reaches the upstream.
func (v Verdict) Passes() bool { return v.Outcome == Allow || v.Outcome == Open || v.Outcome == Shadow }

func refused(status int, code, detail string) Verdict {
	return Verdict{Outcome: Refused, Status: status, Code: code, Detail: detail}
}

func unavailable(code, detail string, err error) Verdict {
	return Verdict{Outcome: Unavailable, Status: http.StatusServiceUnavailable, Code: code, Detail: detail, RetryAfter: 2 * time.Second, Reason: err}
}
