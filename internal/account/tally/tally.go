// Package tally records in the audit log what happens too often for an entry each: which operations were refused to an authenticated
// caller, which sign-ins to the console failed, which keys read records about people in bulk, and which stored records the service refused
// because they were changed outside of it.
//
// A request waits for nothing: it adds to a count in memory, and a loop writes the entries. Of one kind (the same environment,
// caller, operation and code) a process writes one entry a minute at most, of reads and of an altered record one an hour, which counts all of
// them, so that no caller can flood the log. What a process has counted and not yet written is lost if it is killed.
//
// The package may not decide what is refused, and may not store anything of a request but its id.
package tally

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
	"github.com/countersign-dev/countersign/internal/platform/webname"
)

const (
	// Interval is the least time between two entries of one kind of refusal.
	Interval = time.Minute
	// ReadInterval is the least time between two entries of one kind of read, and about one altered record, and the time in which Bulk records
	// are counted.
	ReadInterval = time.Hour
	// Bulk is the number of records of one list that a key may read in an hour without an entry: one page of the largest size.
	Bulk = 200
	// Anonymous is the actor of an entry about a caller who was not authenticated.
	Anonymous = "anonymous"

	service    = "service" // the actor of an entry about an altered record
	writeEvery = time.Second
)

// Deps are the dependencies of a Recorder. All are required.
type Deps struct {
	Store   *pg.Store
	Clock   clock.Clock
	Log     *slog.Logger
	Metrics prometheus.Registerer
	BaseURL string // of the console
}

// Recorder counts and writes the entries. It is safe for concurrent use.
type Recorder struct {
	Deps
	unwritten prometheus.Counter
	altered   *prometheus.CounterVec

	mu     sync.Mutex
	counts map[kind]count
}

// kind identifies what one entry counts. Sign-ins have no environment: they belong to all of a tenant or of a person.
type kind struct {
	scope  pg.Scope
	source string // the credential, person or page; client tokens count as the key that issued them
	signIn SignIn // zero for an operation

	operation string
	code      problem.Code // empty for a read

	altered string // the table and id of an altered record; empty for the others
}

// reads reports whether the kind counts records that were read.
func (k kind) reads() bool { return k.code == "" && k.altered == "" }

// interval is the least time between two entries of the kind.
func (k kind) interval() time.Duration {
	if k.reads() || k.altered != "" {
		return ReadInterval
	}
	return Interval
}

// worth reports whether a count of the kind deserves an entry.
func (k kind) worth(n int) bool {
	if k.reads() {
		return n > Bulk
	}
	return n > 0
}

// count is how many of a kind no entry has counted yet, with what its next entry says of the last one. Since is the time of the previous
// entry, or of the first one counted if there is none.
type count struct {
	n                int
	actor, requestID string
	altered          *pg.Altered
	since            time.Time
	written          bool
}

// New returns a recorder. Run writes what it counts.
func New(d Deps) *Recorder {
	r := &Recorder{Deps: d, counts: map[kind]count{}, unwritten: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "countersign_tallies_unwritten_total", Help: "Audit entries about refused operations, failed sign-ins, bulk reads and altered records that could not be written.",
	}), altered: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "countersign_altered_records_total", Help: "Stored records that this process refused because they were changed outside of the service, each at most once a second.",
	}, []string{"table"})}
	for _, t := range pg.AttestedTables() {
		r.altered.WithLabelValues(t.Name) // an alert on the increase needs the series before
	}
	d.Metrics.MustRegister(r.unwritten, r.altered)
	return r
}

// Refused counts a request of an authenticated caller that a code of status 403 refused (request.ForbiddenCode). It leaves out a
// caller who is unknown, and a request without such a code.
func (r *Recorder) Refused(p identity.Principal, operation string, code problem.Code) {
	if p.EnvironmentID != "" && code != "" {
		r.add(operationOf(p, operation, code), count{n: 1, actor: p.Actor(), requestID: p.RequestID})
	}
}

// Read counts the records about people that an operation returned to a key. There is an entry once they are more than Bulk within an hour.
func (r *Recorder) Read(p identity.Principal, operation string, records int) {
	if p.EnvironmentID != "" && records > 0 {
		r.add(operationOf(p, operation, ""), count{n: records, actor: p.Actor(), requestID: p.RequestID})
	}
}

func operationOf(p identity.Principal, operation string, code problem.Code) kind {
	return kind{scope: p.Store(), source: p.CredentialID + p.Person + p.Page, operation: operation, code: code}
}

// SignIn describes a sign-in that failed: the tenant whose provider or person it was, and the person if it got that far.
// Reason is that of an identity provider's refusal.
type SignIn struct {
	Tenant, Person, IdentityProvider, Reason string
}

// SignInFailed counts a sign-in that the code refused. Failures of the service itself are left out.
func (r *Recorder) SignInFailed(in SignIn, code problem.Code, requestID string) {
	if problem.Of(code).Status >= http.StatusInternalServerError {
		return
	}
	r.add(kind{scope: pg.Scope{Tenant: in.Tenant}, signIn: in, code: code}, count{n: 1, actor: Anonymous, requestID: requestID})
}

// addAltered counts the records that the store refused since it was called last.
func (r *Recorder) addAltered() {
	for _, a := range r.Store.TakeAltered() {
		r.altered.WithLabelValues(a.Table).Inc()
		r.add(kind{altered: a.Table + " " + a.ID}, count{n: 1, actor: service, altered: a})
	}
}

func (r *Recorder) add(k kind, c count) {
	now := r.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.counts[k]
	c.n, c.since, c.written = before.n+c.n, before.since, before.written
	if !known {
		c.since = now
	}
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
func (r *Recorder) Write(ctx context.Context) { r.write(ctx, r.due(false)) }

// Drain writes the entries of all that was counted, at the end of a process.
func (r *Recorder) Drain(ctx context.Context) { r.write(ctx, r.due(true)) }

// due takes the counts that deserve an entry, of the kinds whose last entry is older than their interval or, at the end, of all. It forgets
// kinds that had too little to count in an interval.
func (r *Recorder) due(end bool) map[kind]count {
	r.addAltered()
	now, out := r.Clock.Now(), map[kind]count{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, c := range r.counts {
		over := end || now.Sub(c.since) >= k.interval()
		switch {
		case k.worth(c.n) && (over || !c.written):
			out[k] = c
			r.counts[k] = count{since: now, written: true}
		case over:
			delete(r.counts, k)
		}
	}
	return out
}

func (r *Recorder) write(ctx context.Context, due map[kind]count) {
	for k, c := range due {
		if c.altered != nil {
			r.Log.ErrorContext(ctx, "a stored record was changed outside of the service; requests that depend on it are refused", "table", c.altered.Table, "record", c.altered.ID)
		}
		if err := r.append(ctx, k, c); err != nil {
			r.unwritten.Inc()
			r.Log.ErrorContext(ctx, "a tally has no audit entry", "environment", k.scope.Environment, "operation", k.operation,
				"code", string(k.code), "count", c.n, "error", err)
		}
	}
}

// append writes one entry to the log of each environment that a kind belongs to.
func (r *Recorder) append(ctx context.Context, k kind, c count) error {
	return r.Store.Write(ctx, func(q *pg.Q) error {
		scopes, err := r.scopes(ctx, q, k, c)
		if err != nil {
			return err
		}
		for _, scope := range scopes {
			e := events.Entry{Scope: scope, At: r.Clock.Now(), Actor: c.actor, RequestID: c.requestID, Data: k.data(c)}
			if err := events.Append(ctx, q, e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (k kind) data(c count) events.Data {
	switch {
	case c.altered != nil:
		return events.RecordAlteredData{Table: c.altered.Table, Record: c.altered.ID}
	case k.reads():
		return events.RecordsReadData{Operation: k.operation, Count: c.n}
	case k.operation != "":
		return events.OperationRefusedData{Operation: k.operation, Code: string(k.code), Count: c.n}
	default:
		return events.PersonSignInFailedData{
			Person: k.signIn.Person, IdentityProvider: k.signIn.IdentityProvider, Code: string(k.code), Reason: k.signIn.Reason, Count: c.n,
		}
	}
}

// scopes returns the environments that a kind belongs to. A failed sign-in belongs to those that the person has a role in, and to all
// of the tenant if it has no such person. One that names no tenant, with an unknown passkey, belongs to the tenant whose RP ID covers the
// host of the console, or to the only tenant of the service; otherwise it is in no log.
func (r *Recorder) scopes(ctx context.Context, q *pg.Q, k kind, c count) ([]pg.Scope, error) {
	if c.altered != nil {
		return c.altered.Scopes(ctx, q)
	}
	if k.scope.Environment != "" {
		return []pg.Scope{k.scope}, nil
	}
	tenant := k.scope.Tenant
	if tenant == "" {
		var err error
		if tenant, err = tenancy.TenantOfHost(ctx, q, webname.HostOf(r.BaseURL)); err != nil || tenant == "" {
			return nil, err
		}
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
