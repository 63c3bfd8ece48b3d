package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	actions "github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// clients is the number of concurrent clients in a closed loop, of the API
// and of the database alike.
const clients = 8

// subjects is the number of subjects that a load is spread over.
const subjects = 64

// openRate is the rate of the open loop, in requests a second. It is below
// the capacity of a machine with two cores, so that latencies are those of
// the service and not of a growing queue.
const openRate = 300

// openClients bounds the requests in flight in an open loop.
const openClients = 256

// trusting is a policy that allows a subject with fresh evidence.
var trusting = countersign.PolicyRequirements{CoverageMin: "partial", FreshnessMaxMS: 3_600_000}

// authorize measures allow in enforce mode, including the proof, compared
// with its SQL.
func authorize(ctx context.Context, b *bench) error {
	if err := harness.NewAction(ctx, b.sdk, "payment.release", trusting); err != nil {
		return err
	}
	all, err := b.people(ctx, subjects, true)
	if err != nil {
		return err
	}
	ask := newRequests("payment.release", func(i int) string { return all[i%len(all)].subject })
	plain, err := b.bare(ctx, subjects, func(ctx context.Context, in *inside, i int) error { return in.authorize(ctx, ask.body(i)) })
	if err != nil {
		return err
	}
	defer plain.pool.Close()
	api := func(context.Context, int) error { return b.allowed(ask.next()) }
	if err := b.beside(ctx, "authorize", "authorize, allow and proof", "authorizations", api, plain); err != nil {
		return err
	}
	return b.withRule(ctx, api, all)
}

// reasons finds the part of a response that explains a decision.
var reasons = regexp.MustCompile(`"decision":"[a-z]*"|"reason_codes":\[.*?\]`)

// allowed authorizes and returns an error unless the decision is allow with
// a proof. It searches the bytes and does not decode them, because it runs
// once per request of a load.
func (b *bench) allowed(body []byte) error {
	a, err := b.server.Do("POST", "/api/v1/authorize", body)
	switch {
	case err != nil:
		return err
	case a.Status != 200:
		return fmt.Errorf("returned status %d: %s", a.Status, a.Body)
	case !bytes.Contains(a.Body, []byte(`"decision":"allow"`)) || !bytes.Contains(a.Body, []byte(`"proof":"ey`)):
		return fmt.Errorf("not allowed, or without a proof: %s", bytes.Join(reasons.FindAll(a.Body, -1), []byte(", ")))
	}
	return nil
}

// beside measures an API path and its SQL in turn, in a closed and in an
// open loop, and compares the figures with the targets. Each request of
// either side must add one row to the table, which is checked at the end.
func (b *bench) beside(ctx context.Context, part, what, table string, api loadgen.Work, plain *bare) error {
	before, err := plain.count(ctx, table)
	if err != nil {
		return err
	}
	first := len(b.report.Rows)
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("%s: the bare transaction has the statements that the service sends for one such request: %s.", what, plain.shape()))
	warm := loadgen.Closed(ctx, clients, 2*time.Second, api) // caches filled, connections made
	warm.Join(loadgen.Closed(ctx, clients, time.Second, plain.run))
	if _, err := plain.pool.Exec(ctx, "vacuum analyze"); err != nil { // as Postgres does by itself within minutes
		return err
	}
	var each [2]ratios
	for i, load := range loads(ctx) {
		each[i] = b.compare(ctx, part, load.how, load.side(what, api), load.side("its SQL, bare", plain.run))
	}
	r := each[0]
	b.report.under(what+": p50 over bare, closed loop", r.p50, 2, "x")
	b.report.under(what+": p99 over bare, closed loop", r.p99, 5, "x")
	b.report.atLeast(what+": throughput over bare", r.perSecond, .5, "x")
	r = each[1]
	b.report.under(what+": p50 over bare, open loop", r.p50, 2, "x")
	b.report.under(what+": p99 over bare, open loop", r.p99, 5, "x")
	b.report.under(fmt.Sprintf("%s: p99 at %d/s", what, openRate), b.report.Rows[len(b.report.Rows)-2].P99, 40, "ms")
	want := before + warm.Done()
	for _, x := range b.report.Rows[first:] {
		want += x.Done
	}
	after, err := plain.count(ctx, table)
	if err == nil && after != want {
		err = fmt.Errorf("%s has %d rows and should have %d: one side did not do what it was measured for", table, after, want)
	}
	return err
}

// inside holds the service's own code on the rig's database, with every
// statement recorded.
type inside struct {
	store     *pg.Store
	principal identity.Principal
	decide    *authorization.Service
	sessions  *session.Service
	proofs    *signing.Service
}

// inside opens the services with a recorder as their tracer. The caller
// closes the store.
func (b *bench) inside(ctx context.Context, r *recorder) (*inside, error) {
	st, keys, err := b.rig.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	c := clock.System()
	p, err := identity.New(st, keys, c).Authenticate(ctx, b.tenant.Server)
	if err != nil {
		st.Close()
		return nil, err
	}
	assessor, proofs := assurance.New(scoring.Default(), keys), signing.New(st, keys, c, b.rig.API.URL)
	return &inside{
		store: st, principal: p,
		decide:   authorization.New(st, c, actions.New(st, c), assessor, proofs, keys),
		sessions: session.New(st, c, assessor, nil),
		proofs:   proofs,
	}, nil
}

// authorize makes the decision that the API would make for the body.
func (in *inside) authorize(ctx context.Context, body []byte) error {
	var r authorization.Request
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	_, err := in.decide.Authorize(ctx, in.principal, r, time.Now())
	return err
}

// bare records the statements of n requests, one for each subject or
// session, and returns what sends the same statements again.
func (b *bench) bare(ctx context.Context, n int, do func(ctx context.Context, in *inside, i int) error) (*bare, error) {
	r := &recorder{}
	in, err := b.inside(ctx, r)
	if err != nil {
		return nil, err
	}
	defer in.store.Close()
	plain, err := newBare(ctx, b.rig.DatabaseURL(), poolSize)
	if err != nil {
		return nil, err
	}
	for i := range n {
		request := func(ctx context.Context) error { return do(ctx, in, i) }
		if i == 0 { // fills caches, which a request in the middle of a load finds full
			if err := request(ctx); err != nil {
				return nil, err
			}
		}
		again, err := r.twice(ctx, request)
		if err != nil {
			return nil, err
		}
		plain.all = append(plain.all, again)
	}
	for i := range n { // none of them may stop at a guard
		if err := plain.run(ctx, i); err != nil {
			return nil, fmt.Errorf("the recorded statements cannot be sent again: %w", err)
		}
	}
	return plain, nil
}

// poolSize is the number of connections that the service has by default.
// The bare side has as many, so that neither side waits less for one.
const poolSize = 16
