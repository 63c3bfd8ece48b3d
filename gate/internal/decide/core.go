package decide

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/mapping"
	"github.com/countersign-dev/countersign/gate/internal/state"
	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// Core asks the service. HTTP requests and calls of tools share it. It is safe for concurrent use.
type Core struct {
	common config.Common
	client *countersign.Client
	keys   proof.Keys
	now    func() time.Time

	mu sync.Mutex
	me *countersign.CredentialIdentity // once the service has named it
}

// NewCore returns the core of a configuration. It calls the service with requests only, so that a gate starts while the service is unavailable.
func NewCore(c config.Common, transport http.RoundTripper) (*Core, error) {
	client, err := countersign.New(c.ServiceURL, c.ServiceKey, countersign.WithHTTPClient(&http.Client{Transport: transport}), countersign.WithTimeout(c.Timeout))
	if err != nil {
		return nil, err
	}
	return &Core{common: c, client: client, keys: proof.NewRemote(c.ServiceURL, &http.Client{Transport: transport}), now: time.Now}, nil
}

// Ready returns nil if the service accepts the key.
func (c *Core) Ready(ctx context.Context) error {
	_, err := c.identity(ctx)
	return err
}

// identity returns the environment and the issuer of proofs.
func (c *Core) identity(ctx context.Context) (*countersign.CredentialIdentity, error) {
	c.mu.Lock()
	me := c.me
	c.mu.Unlock()
	if me != nil {
		return me, nil
	}
	me, err := c.client.GetCredential(ctx)
	if err == nil {
		c.mu.Lock()
		c.me = me
		c.mu.Unlock()
	}
	return me, err
}

// Inquiry is one question to the service: who wants to do what. Whatever it covers, the proof covers.
type Inquiry struct {
	Subject, Action, Audience, ResourceType string
	Values                                  *mapping.Values
	Binding                                 state.Binding
	LeavesProof                             bool // the upstream consumes it
	Dry                                     bool // a shadow route: nothing is consumed
	Trace                                   []countersign.RequestOption
}

// lookback is how many earlier authorizations are compared with a repeated request.
const lookback = 100

// Fresh asks for a new authorization.
func (c *Core) Fresh(ctx context.Context, q *Inquiry) Verdict {
	ask := c.request(q, rand.Text(), rand.Text())
	d, err := c.client.Authorize(ctx, *ask, q.Trace...)
	if err != nil {
		return failed(err)
	}
	return c.decided(ctx, q, d, ask.Nonce)
}

// Repeated asks for the authorization of all requests with these parts: its key and nonce are derived from them.
func (c *Core) Repeated(ctx context.Context, q *Inquiry, parts ...string) Verdict {
	ask := c.derived(q, parts)
	d, err := c.client.Authorize(ctx, *ask, q.Trace...)
	if countersign.IsCode(err, countersign.CodeIdempotencyKeyReused) {
		d, err = c.earlier(ctx, q, ask)
	}
	if err != nil {
		return failed(err)
	}
	return c.found(ctx, q, d, ask.Nonce)
}

// attempts are how often a call that lost its proof to an identical one asks again.
const attempts = 8

// Continued asks for the authorization of all identical calls until its proof is consumed: a call that was made before and waits is followed,
// and one that was refused within the time stays refused. It stores nothing: the key is derived from the call and its last predecessor,
// which the service knows. Last is that predecessor if the caller remembers it, or empty; the second result is the one to remember.
func (c *Core) Continued(ctx context.Context, q *Inquiry, last string, within time.Duration) (Verdict, string) {
	for range attempts {
		v := c.next(ctx, q, last)
		if !v.over(c.now(), within) {
			return v, last
		}
		newest, v := c.newest(ctx, q)
		if v.Outcome != "" && !v.over(c.now(), within) {
			return v, last
		}
		last = newest
	}
	return unavailable("busy", "Too many identical calls at once. Try again.", errors.New("identical calls take each other's proofs")), last
}

// next asks for the authorization that follows the last one.
func (c *Core) next(ctx context.Context, q *Inquiry, last string) Verdict {
	ask := c.derived(q, []string{last})
	d, err := c.client.Authorize(ctx, *ask, q.Trace...)
	switch {
	case countersign.IsCode(err, countersign.CodeIdempotencyKeyReused):
		return refused(http.StatusConflict, codeUsed, "")
	case err != nil:
		return failed(err)
	}
	v := c.found(ctx, q, d, ask.Nonce)
	v.Asked = c.now()
	return v
}

// newest follows the newest authorization of an identical call. The verdict is empty if there is none.
func (c *Core) newest(ctx context.Context, q *Inquiry) (string, Verdict) {
	list, err := c.same(ctx, q)
	if err != nil {
		return "", failed(err)
	}
	if len(list) == 0 {
		return "", Verdict{}
	}
	v := c.Follow(ctx, q, list[0].ID)
	v.Asked = list[0].RequestedAt
	return list[0].ID, v
}

// over reports whether the same call is a new one: the approval is used, or it was refused too long ago.
func (v Verdict) over(now time.Time, within time.Duration) bool {
	return v.Code == codeUsed || (v.Code == codeSettled || v.Outcome == Deny) && now.Sub(v.Asked) > within
}

// Used reports whether the approval of a verdict was consumed or has expired.
func (v Verdict) Used() bool { return v.Code == codeUsed }

// Waits reports whether a person can still settle the request.
func (v Verdict) Waits() bool { return v.Outcome == Challenge || v.Outcome == Hold }

// found is the verdict on a decision that may be that of an earlier request, and may have been settled since.
func (c *Core) found(ctx context.Context, q *Inquiry, d *countersign.AuthorizeResponse, nonce string) Verdict {
	v := c.decided(ctx, q, d, nonce)
	if (v.Outcome == Challenge || v.Outcome == Hold) && !q.Dry {
		return c.Follow(ctx, q, d.ID)
	}
	return v
}

func (c *Core) request(q *Inquiry, key, nonce string) *countersign.AuthorizeRequest {
	return &countersign.AuthorizeRequest{
		Subject: q.Subject, Action: q.Action, Audience: q.Audience, Session: q.Values.Session, Context: q.Values.Context,
		Resource: countersign.Resource{Type: q.ResourceType, ID: q.Values.ResourceID},
		Nonce:    nonce, IdempotencyKey: key, RequestedAt: c.now().Unix(),
	}
}

func (c *Core) derived(q *Inquiry, parts []string) *countersign.AuthorizeRequest {
	parts = append([]string{q.Binding.Principal, q.Binding.Route, q.Binding.Digest}, parts...)
	ask := c.request(q, c.common.State.Derive("key", parts...), c.common.State.Derive("nonce", parts...))
	ask.RequestedAt -= ask.RequestedAt % 60 // so that quick repetitions are the same request
	return ask
}

// decided acts on a decision.
func (c *Core) decided(ctx context.Context, q *Inquiry, d *countersign.AuthorizeResponse, nonce string) Verdict {
	switch {
	case d.Mode == countersign.ModeShadow:
		return Verdict{Outcome: Shadow, Would: Outcome(d.Decision), Authorization: d.ID}
	case d.Decision == countersign.DecisionAllow && q.Dry:
		return Verdict{Outcome: Allow, Authorization: d.ID}
	case d.Decision == countersign.DecisionAllow && d.Proof == "":
		return unavailable("no_proof", "The action issues no proofs.", errors.New("the action is in mode test: set it to enforce"))
	case d.Decision == countersign.DecisionAllow:
		return c.redeem(ctx, q, d.ID, d.Proof, proof.Expect{Nonce: nonce, ActionHash: d.ActionHash})
	case d.Decision == countersign.DecisionDeny:
		return Verdict{Outcome: Deny, Status: http.StatusForbidden, Code: "denied", Detail: d.HumanReadable.Detail, Authorization: d.ID}
	case q.Dry:
		if d.Challenge != nil {
			_, _ = c.client.CancelChallenge(ctx, d.Challenge.ID) // it expires by itself if this fails
		}
		return Verdict{Outcome: Outcome(d.Decision), Authorization: d.ID}
	case d.Decision == countersign.DecisionChallenge && d.Challenge != nil:
		return challenged(d.ID, d.Challenge.ID, d.Challenge.ExpiresAt)
	}
	return held(d.ID)
}

// earlier finds the authorization of a repeated request. The service compares whole requests, and the gate does not know when the first was
// made: it tries the times of the subject's authorizations with the same values. Only the right one is returned by the service.
func (c *Core) earlier(ctx context.Context, q *Inquiry, ask *countersign.AuthorizeRequest) (*countersign.AuthorizeResponse, error) {
	list, err := c.same(ctx, q)
	if err != nil {
		return nil, err
	}
	var tried []int64
	for _, t := range list {
		at := t.RequestedAt.Unix()
		if slices.Contains(tried, at) || at%60 != 0 {
			continue
		}
		tried = append(tried, at)
		ask.RequestedAt = at
		d, err := c.client.Authorize(ctx, *ask, q.Trace...)
		if !countersign.IsCode(err, countersign.CodeIdempotencyKeyReused) {
			return d, err
		}
	}
	return nil, errKeyReused
}

// same returns the latest authorizations that were asked for with the same values, the newest first, without follow-up decisions.
func (c *Core) same(ctx context.Context, q *Inquiry) ([]countersign.AuthorizationTrace, error) {
	page, err := c.client.ListAuthorizations(ctx, countersign.ListAuthorizationsParams{Subject: q.Subject, Action: q.Action, Limit: lookback}, q.Trace...)
	if err != nil {
		return nil, err
	}
	resource, err := proof.ResourceDigest(q.ResourceType, q.Values.ResourceID)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(page.Items, func(t countersign.AuthorizationTrace) bool {
		return t.Parent != "" || t.ContextDigest != q.Values.ContextDigest || t.ResourceDigest != resource
	}), nil
}

var errKeyReused = errors.New("the Idempotency-Key was used for a different request")

// failed is the verdict on a call that the service did not carry out.
func failed(err error) Verdict {
	var refusal *countersign.Error
	switch {
	case errors.Is(err, errKeyReused):
		return refused(http.StatusConflict, "idempotency_key_reused", "The Idempotency-Key was used too long ago to be found. Use a new one.")
	case countersign.RateLimited(err):
		v := unavailable("busy", "Too many requests at the moment. Try again later.", err)
		if errors.As(err, &refusal) {
			v.RetryAfter = max(v.RetryAfter, refusal.RetryAfter)
		}
		return v
	case !errors.As(err, &refusal) || refusal.Status >= http.StatusInternalServerError:
		return unavailable("unavailable", "The request cannot be authorized at the moment. Try again.", err)
	case refusal.Code == countersign.CodeNotFound:
		return refused(http.StatusForbidden, "unknown_subject", "The user or the session is not known.")
	case refusal.Status == http.StatusUnprocessableEntity:
		v := refused(http.StatusUnprocessableEntity, "invalid_values", "The request has values that the action does not accept.")
		v.Reason = err
		return v
	}
	return unavailable("misconfigured", "The request cannot be authorized. Its operators have been notified.", err)
}
