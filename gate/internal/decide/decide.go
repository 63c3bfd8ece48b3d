// Package decide takes a request through the service: it authorizes, verifies and consumes the proof, or continues an authorization that the
// client brings back. It stores nothing and makes no decision of its own: whatever is not an allow of the service with its own proof is
// refused.
package decide

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/mapping"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/request"
	"github.com/countersign-dev/countersign/gate/internal/state"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Engine decides requests by one configuration. It is safe for concurrent use.
type Engine struct {
	*Core
	config *config.Config
}

// New returns the engine of a configuration.
func New(c *config.Config, transport http.RoundTripper) (*Engine, error) {
	core, err := NewCore(c.Common, transport)
	if err != nil {
		return nil, err
	}
	return &Engine{Core: core, config: c}, nil
}

// Config returns the configuration.
func (e *Engine) Config() *config.Config { return e.config }

// call is one request on its way.
type call struct {
	*Engine
	*Match
	who     *principal.Principal
	inquiry *Inquiry // once the principal is known and the mapping evaluated
}

// Decide returns what becomes of a request. The body must be set if the match reads it.
func (e *Engine) Decide(ctx context.Context, m *Match, peer principal.Peer) Verdict {
	if m.Route.Place.Open {
		return Verdict{Outcome: Open, Route: m.Route.Name}
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	c := &call{Engine: e, Match: m}
	v := c.dressed(ctx, c.decide(ctx, peer))
	v.Route, v.Browser, v.Safe, v.Secure = m.Route.Name, browser(m.Request), safe(m.Request.Method), m.Request.Scheme == "https"
	if m.Route.Shadow {
		return Verdict{Outcome: Shadow, Would: v.Outcome, Route: v.Route, Code: v.Code, Authorization: v.Authorization, Reason: v.Reason}
	}
	return v
}

func (c *call) decide(ctx context.Context, peer principal.Peer) Verdict {
	if v := c.identify(ctx, peer); v.Outcome != "" {
		return v
	}
	if v := c.read(ctx); v.Outcome != "" {
		return v
	}
	if carried, given, err := c.Request.Value(request.StateHeader); err != nil || given {
		authorization, err := c.config.State.Open(carried, c.now(), c.inquiry.Binding)
		if err != nil {
			return refused(http.StatusForbidden, "state_invalid", "The state is not of this request, or has expired. Send the request again without Countersign-State.")
		}
		return c.Follow(ctx, c.inquiry, authorization)
	}
	// A browser sends the cookie unasked: one that is of no use is ignored.
	if cookie := c.cookie(); cookie != "" {
		if authorization, err := c.config.State.Open(cookie, c.now(), c.inquiry.Binding); err == nil {
			if v := c.Follow(ctx, c.inquiry, authorization); v.Code != codeSettled && v.Code != codeUsed {
				return v
			}
		}
	}
	return c.begin(ctx)
}

// identify finds the principal.
func (c *call) identify(ctx context.Context, peer principal.Peer) Verdict {
	var err error
	if c.config.JWT != nil {
		c.who, err = c.config.JWT.Of(ctx, c.Request)
	} else {
		c.who, err = c.config.Header.Of(c.Request, peer)
	}
	var refusal *principal.Error
	var ambiguous *request.Refusal
	switch {
	case errors.As(err, &refusal):
		v := Verdict{Outcome: Unauthenticated, Status: http.StatusUnauthorized, Code: "unauthenticated", Detail: refusal.Why}
		if !refusal.Missing {
			v.Code = "invalid_token"
		}
		return v
	case errors.As(err, &ambiguous):
		return refused(http.StatusBadRequest, "ambiguous_request", ambiguous.Detail)
	case err != nil:
		return unavailable("issuer_unavailable", "The user cannot be identified at the moment.", err)
	}
	return Verdict{}
}

// read evaluates the mapping.
func (c *call) read(ctx context.Context) Verdict {
	values, err := c.Route.Mapping.Values(ctx, c.Request, mapping.Input{Params: c.params, Token: c.who.Token, Subject: c.who.Subject, Issuer: c.who.Issuer, Principal: c.who.Source})
	var ambiguous *request.Refusal
	switch {
	case errors.As(err, &ambiguous):
		return refused(http.StatusBadRequest, "ambiguous_request", ambiguous.Detail)
	case err != nil:
		v := refused(http.StatusBadRequest, "incomplete_request", "The request lacks a value that is needed to authorize it.")
		v.Reason = err
		return v
	}
	c.inquiry = &Inquiry{
		Subject: c.who.Subject, Action: c.Route.Action, Audience: c.Route.Audience, ResourceType: c.Route.ResourceType, Values: values,
		Binding:     state.Binding{Principal: c.who.Key(), Route: c.Route.Name, Digest: values.Digest},
		LeavesProof: c.Route.ConsumedByUpstream, Dry: c.Route.Shadow,
	}
	if traceparent := c.Request.Header.Get("Traceparent"); traceparent != "" {
		c.inquiry.Trace = append(c.inquiry.Trace, countersign.Traceparent(traceparent))
	}
	return Verdict{}
}

// cookieName is different for each request that can be authorized, so that several can wait at once.
func (c *call) cookieName() string {
	sum := sha256.Sum256([]byte(c.Route.Name + "\n" + c.inquiry.Values.Digest))
	return "countersign_" + hex.EncodeToString(sum[:8])
}

func (c *call) cookie() string {
	name := c.cookieName()
	for _, line := range c.Request.Header.Values("Cookie") {
		for pair := range strings.SplitSeq(line, ";") {
			if key, value, _ := strings.Cut(strings.TrimSpace(pair), "="); key == name {
				return value
			}
		}
	}
	return ""
}

// begin authorizes the request. With the client's Idempotency-Key, repetitions make one authorization.
func (c *call) begin(ctx context.Context) Verdict {
	key, given, err := c.Request.Value("Idempotency-Key")
	if err != nil {
		return refused(http.StatusBadRequest, "ambiguous_request", err.Error())
	}
	if !given {
		return c.Fresh(ctx, c.inquiry)
	}
	return c.Repeated(ctx, c.inquiry, key)
}
