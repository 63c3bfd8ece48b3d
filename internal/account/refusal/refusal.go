// Package refusal records in the audit log which operations were refused to an authenticated caller and which sign-ins to the
// console failed.
//
// A refused request waits for nothing: it adds to a count in memory, and a loop writes the entries. Of refusals of one kind (the same
// environment, caller, operation and code) a process writes one entry a minute at most, which counts all of them, so that no caller
// can flood the log. What a process has counted and not yet written is lost if it is killed.
//
// The package may not decide what is refused, and may not store anything of a request but its id.
package refusal

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

const (
	// Interval is the least time between two entries of one kind.
	Interval = time.Minute
	// Anonymous is the actor of an entry about a caller who was not authenticated.
	Anonymous = "anonymous"

	writeEvery = time.Second
)

// Deps are the dependencies of a Recorder. All are required.
type Deps struct {
	Store   *pg.Store
	Clock   clock.Clock
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Recorder counts refusals and writes their entries. It is safe for concurrent use.
type Recorder struct {
	Deps
	unwritten prometheus.Counter

	mu     sync.Mutex
	counts map[kind]count
}

// kind identifies the refusals that one entry counts. Those of sign-ins have no environment: they belong to all of a tenant or of a person.
type kind struct {
	scope  pg.Scope
	source string // the credential, person or page; client tokens count as the key that issued them
	signIn SignIn // zero for an operation

	operation string
	code      problem.Code
}

// count is how many refusals of a kind no entry has counted yet, with what its next entry says of the last one.
type count struct {
	refused          int
	actor, requestID string
	writtenAt        time.Time
}

// New returns a recorder. Run writes what it counts.
func New(d Deps) *Recorder {
	r := &Recorder{Deps: d, counts: map[kind]count{}, unwritten: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "countersign_refusals_unwritten_total", Help: "Refused operations and failed sign-ins whose audit entry could not be written.",
	})}
	d.Metrics.MustRegister(r.unwritten)
	return r
}

// Operation counts a request of an authenticated caller that a code of status 403 refused (request.ForbiddenCode). It leaves out a
// caller who is unknown, and a request without such a code.
func (r *Recorder) Operation(p identity.Principal, operation string, code problem.Code) {
	if p.EnvironmentID == "" || code == "" {
		return
	}
	source := p.CredentialID + p.Person + p.Page
	r.add(kind{scope: p.Store(), source: source, operation: operation, code: code}, p.Actor(), p.RequestID)
}

// SignIn describes a sign-in that failed: the tenant whose provider or person it was, and the person if it got that far.
// Reason is that of an identity provider's refusal.
type SignIn struct {
	Tenant, Person, IdentityProvider, Reason string
}

// SignIn counts a sign-in that the code refused. Failures of the service itself are left out.
func (r *Recorder) SignIn(in SignIn, code problem.Code, requestID string) {
	if problem.Of(code).Status >= http.StatusInternalServerError {
		return
	}
	r.add(kind{scope: pg.Scope{Tenant: in.Tenant}, signIn: in, code: code}, Anonymous, requestID)
}

func (r *Recorder) add(k kind, actor, requestID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[k]
	c.refused, c.actor, c.requestID = c.refused+1, actor, requestID
	r.counts[k] = c
}

// Run writes entries until the context ends.
func (r *Recorder) Run(ctx context.Context) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.Write(ctx)
		}
	}
}

// Write writes the entries that are due.
func (r *Recorder) Write(ctx context.Context) { r.write(ctx, r.due(Interval)) }

// Drain writes the entries of all refusals that were counted, at the end of a process.
func (r *Recorder) Drain(ctx context.Context) { r.write(ctx, r.due(0)) }

// due takes the counts of the kinds whose last entry is older than the interval, and forgets kinds with nothing to count since.
func (r *Recorder) due(interval time.Duration) map[kind]count {
	now, out := r.Clock.Now(), map[kind]count{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, c := range r.counts {
		switch {
		case now.Sub(c.writtenAt) < interval:
		case c.refused == 0:
			delete(r.counts, k)
		default:
			out[k] = c
			r.counts[k] = count{writtenAt: now}
		}
	}
	return out
}

func (r *Recorder) write(ctx context.Context, due map[kind]count) {
	for k, c := range due {
		if err := r.append(ctx, k, c); err != nil {
			r.unwritten.Add(float64(c.refused))
			r.Log.ErrorContext(ctx, "refusals have no audit entry", "environment", k.scope.Environment, "operation", k.operation,
				"code", string(k.code), "count", c.refused, "error", err)
		}
	}
}

// append writes one entry to the log of each environment that a kind belongs to.
func (r *Recorder) append(ctx context.Context, k kind, c count) error {
	return r.Store.Write(ctx, func(q *pg.Q) error {
		scopes, err := k.scopes(ctx, q)
		if err != nil {
			return err
		}
		for _, scope := range scopes {
			e := events.Entry{Scope: scope, At: r.Clock.Now(), Actor: c.actor, RequestID: c.requestID, Data: k.data(c.refused)}
			if err := events.Append(ctx, q, e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (k kind) data(refused int) events.Data {
	if k.operation != "" {
		return events.OperationRefusedData{Operation: k.operation, Code: string(k.code), Count: refused}
	}
	return events.PersonSignInFailedData{
		Person: k.signIn.Person, IdentityProvider: k.signIn.IdentityProvider, Code: string(k.code), Reason: k.signIn.Reason, Count: refused,
	}
}

// scopes returns the environments that a kind belongs to. A failed sign-in belongs to those that the person has a role in, and to all
// of the tenant if it has no such person. One that names no tenant, with an unknown passkey, belongs to the only tenant of the service;
// of several, it is in no log.
func (k kind) scopes(ctx context.Context, q *pg.Q) ([]pg.Scope, error) {
	if k.scope.Environment != "" {
		return []pg.Scope{k.scope}, nil
	}
	tenant := k.scope.Tenant
	if tenant == "" {
		tenants, err := tenancy.ListTenants(ctx, q)
		if err != nil || len(tenants) != 1 {
			return nil, err
		}
		tenant = tenants[0].ID
	}
	environments, err := tenancy.ListEnvironments(ctx, q, tenant)
	if err != nil {
		return nil, err
	}
	held, err := staff.RolesOf(ctx, q, k.signIn.Person)
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, role := range held {
		in[role.EnvironmentID] = true
	}
	var out []pg.Scope
	for _, env := range environments {
		if len(in) == 0 || in[env.ID] {
			out = append(out, pg.Scope{Tenant: tenant, Environment: env.ID})
		}
	}
	return out, nil
}
