package histories

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// Burst is the number of requests that one caller may send at once; perSecond more become available each second. The UI sends
	// a request for each payload that it shows.
	Burst     = 400
	perSecond = 20
	// maxCallers is the number of callers at which the counts of all are dropped.
	maxCallers = 10_000

	// places is the number of requests that are processed at once, so that they leave memory and connections to decisions; queue
	// more may wait.
	places, queue = 8, 256
	patience      = 5 * time.Second
)

// Service admits callers. It is safe for concurrent use.
type Service struct {
	store  *pg.Store
	clock  clock.Clock
	people *staff.Service
	keys   *identity.Service
	gate   *admission.Gate

	mu     sync.Mutex
	limits map[string]*rate.Limiter // by actor
}

// New returns a service.
func New(st *pg.Store, c clock.Clock, people *staff.Service, keys *identity.Service) *Service {
	return &Service{store: st, clock: c, people: people, keys: keys, gate: admission.New(places, places, queue), limits: map[string]*rate.Limiter{}}
}

// Caller has the credential of a request: the cookie of the console, or an API key.
type Caller struct{ Cookie, Key string }

// Reader is an authenticated caller who may read the audit log of at least one environment.
type Reader struct {
	service   *Service
	actor     string
	requestID string
	scopes    []pg.Scope
}

// Enter waits for a place. After nil the caller must call Leave. It must be called before the body is read.
func (s *Service) Enter(ctx context.Context) error {
	if err := s.gate.Enter(ctx, "", patience); err != nil {
		return problem.NewUnavailable("Too many payloads are being opened. Retry after the Retry-After header.", err)
	}
	return nil
}

// Leave gives a place back.
func (s *Service) Leave() { s.gate.Leave("") }

// Admit authenticates a caller: a person who is signed in to the console with the role auditor, or an admin key with the
// permission audit.
func (s *Service) Admit(ctx context.Context, c Caller) (*Reader, error) {
	r := &Reader{service: s, requestID: ids.New(ids.Request)}
	admit := r.admitPerson
	if c.Key != "" {
		admit = r.admitKey
	}
	if err := admit(ctx, c); err != nil {
		return nil, err
	}
	if len(r.scopes) == 0 {
		return nil, problem.Newf(problem.Forbidden, "Only callers with the permission %s in an environment may have payloads decrypted: "+
			"ask an operator for the role auditor.", models.PermissionAudit)
	}
	if !s.limit(r.actor).AllowN(s.clock.Now(), 1) {
		return nil, &problem.Error{Code: problem.RateLimited, RetryAfter: time.Second,
			Detail: "Too many requests to decrypt payloads. Retry after the Retry-After header."}
	}
	return r, nil
}

func (r *Reader) admitPerson(ctx context.Context, c Caller) error {
	// The page of the Temporal UI sends the requests, so they do not extend the session.
	session, err := r.service.people.Authenticate(ctx, c.Cookie, staff.FromScript)
	if err != nil {
		return err
	}
	r.actor = identity.Principal{Person: session.Person.ID}.Actor()
	for _, g := range session.Grants {
		if slices.ContainsFunc(g.Roles, func(role models.Role) bool { return role.Permissions().Has(models.PermissionAudit) }) {
			r.scopes = append(r.scopes, pg.Scope{Tenant: g.Environment.TenantID, Environment: g.Environment.ID})
		}
	}
	return nil
}

func (r *Reader) admitKey(ctx context.Context, c Caller) error {
	p, err := r.service.keys.Authenticate(ctx, c.Key)
	if err != nil {
		return err
	}
	r.actor = p.Actor()
	if models.PermissionAudit.Within(p.Scope) && p.Permissions.Has(models.PermissionAudit) {
		r.scopes = []pg.Scope{p.Store()}
	}
	return nil
}

func (s *Service) limit(actor string) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.limits) >= maxCallers {
		clear(s.limits)
	}
	l := s.limits[actor]
	if l == nil {
		l = rate.NewLimiter(perSecond, Burst)
		s.limits[actor] = l
	}
	return l
}

// Opened are numbers of decrypted payloads by workflow id, kind/record.
type Opened map[string]int

// Scopes returns the scopes of the workflows that the reader may read, by workflow id. The payloads of every other
// workflow must stay encrypted.
func (r *Reader) Scopes(ctx context.Context, opened Opened) (map[string]pg.Scope, error) {
	byKind := map[string][]string{}
	for w := range opened {
		if kind, record, ok := strings.Cut(w, "/"); ok {
			byKind[kind] = append(byKind[kind], record)
		}
	}
	out := map[string]pg.Scope{}
	for kind, records := range byKind {
		found, err := r.scopesOf(ctx, kind, records)
		if err != nil {
			return nil, err
		}
		for record, scope := range found {
			out[kind+"/"+record] = scope
		}
	}
	return out, nil
}

// kindBackground is the kind of the workflows whose id names their environment: background/env_.../2026-11-23.
const kindBackground = "background"

func (r *Reader) scopesOf(ctx context.Context, kind string, records []string) (map[string]pg.Scope, error) {
	switch {
	case kind == kindBackground:
		return r.backgrounds(records), nil
	case kindOfWorkflow(r.service.store.Q, kind):
		return scopesOfWorkflow(ctx, r.service.store.Q, kind, records, r.scopes)
	default:
		return nil, nil
	}
}

func (r *Reader) backgrounds(records []string) map[string]pg.Scope {
	out := map[string]pg.Scope{}
	for _, record := range records {
		environment, _, _ := strings.Cut(record, "/")
		for _, s := range r.scopes {
			if s.Environment == environment {
				out[record] = s
			}
		}
	}
	return out
}

// Record adds an entry to the audit log of each environment. The caller must not show any payload before it returns nil.
func (r *Reader) Record(ctx context.Context, opened Opened, scopes map[string]pg.Scope) error {
	entries := map[pg.Scope]*events.HistoryOpenedData{}
	for _, workflow := range slices.Sorted(maps.Keys(opened)) {
		scope := scopes[workflow]
		if !slices.Contains(r.scopes, scope) {
			return fmt.Errorf("histories: %s is in no environment of %s", workflow, r.actor)
		}
		if entries[scope] == nil {
			entries[scope] = &events.HistoryOpenedData{}
		}
		entries[scope].Workflows = append(entries[scope].Workflows, workflow)
		entries[scope].Payloads += opened[workflow]
	}
	if len(entries) == 0 {
		return nil
	}
	return r.service.store.Write(ctx, func(q *pg.Q) error {
		for _, scope := range r.scopes {
			data, ok := entries[scope]
			if !ok {
				continue
			}
			err := events.Append(ctx, q, events.Entry{Scope: scope, At: r.service.clock.Now(), Actor: r.actor, RequestID: r.requestID, Data: *data})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
