package upkeep

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/idempotency"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/subject/research"
)

const (
	day        = 24 * time.Hour
	sevenYears = 2555 * day // longer than the limitation periods of most contracts
)

// retentionBatch is the maximum number of rows of one class that one transaction deletes.
const retentionBatch = 2000

// quotaRetention is how long the row of a quota that is full is stored.
const quotaRetention = time.Hour

// Retention is how long each class of data is stored. Zero is without limit, until the subject is erased. docs/retention.md
// documents the classes.
type Retention struct {
	Frames         time.Duration // evidence frames
	Digests        time.Duration // digests of evidence frames, which detect replays
	Sessions       time.Duration // sessions after their last activity, with their running state
	Templates      time.Duration // superseded and retired versions of templates
	Authorizations time.Duration // decisions with their challenges, holds, reviews and proofs
	Details        time.Duration // what was shown of requests that are settled
	Kept           time.Duration // values of requests that are kept for simulations
	Signals        time.Duration // security events about subjects
	Aggregates     time.Duration // amounts and digests by which rules count, and their locks
	Notes          time.Duration // notes on settled holds
	Events         time.Duration // the personal part of the event log
	Research       time.Duration // research vectors
	ResearchSalts  time.Duration // how long a pseudonym is used before its salt is destroyed
	Deliveries     time.Duration // settled webhook deliveries and their attempts
	Idempotency    time.Duration // responses stored for the Idempotency-Key header
	Spent          time.Duration // tokens, grants and links after their expiry
}

// DefaultRetention returns the retention that applies unless the operator configures a different one.
func DefaultRetention() Retention {
	return Retention{
		Frames: 90 * day, Sessions: 180 * day, Templates: 90 * day, Authorizations: sevenYears, Events: sevenYears, Details: 400 * day, Kept: 90 * day, Aggregates: 30 * day, Signals: 90 * day, Notes: 400 * day, Research: 365 * day, ResearchSalts: 30 * day,
		Deliveries: 30 * day, Idempotency: day, Spent: day,
	}
}

// class is a class of data in the setting.
type class struct {
	name, what string // in the setting, and in words
	field      func(r *Retention) *time.Duration
	minimum    time.Duration
	unlimited  bool // may be stored without limit
}

// classes lists the classes in the order of docs/retention.md.
var classes = []class{
	{"frames", "Evidence frames", func(r *Retention) *time.Duration { return &r.Frames }, day, false},
	{"digests", "Digests of evidence frames, which detect replays", func(r *Retention) *time.Duration { return &r.Digests }, 90 * day, true},
	{"sessions", "Sessions after their last activity", func(r *Retention) *time.Duration { return &r.Sessions }, day, false},
	{"templates", "Superseded and retired versions of templates", func(r *Retention) *time.Duration { return &r.Templates }, day, false},
	{"authorizations", "Decisions with their challenges, holds, reviews and proofs", func(r *Retention) *time.Duration { return &r.Authorizations }, 30 * day, true},
	{"details", "What was shown of requests that are settled, such as payee and amount", func(r *Retention) *time.Duration { return &r.Details }, day, true},
	{"kept", "Values of requests that are kept for simulations", func(r *Retention) *time.Duration { return &r.Kept }, day, false},
	{"aggregates", "Amounts and digests by which rules count", func(r *Retention) *time.Duration { return &r.Aggregates }, 30 * day, false},
	{"signals", "Security events of identity providers", func(r *Retention) *time.Duration { return &r.Signals }, 30 * day, false},
	{"notes", "Notes on settled holds", func(r *Retention) *time.Duration { return &r.Notes }, day, false},
	{"events", "The personal part of the event log", func(r *Retention) *time.Duration { return &r.Events }, 30 * day, true},
	{"research", "Research vectors", func(r *Retention) *time.Duration { return &r.Research }, day, false},
	{"research_salts", "Salts of research pseudonyms", func(r *Retention) *time.Duration { return &r.ResearchSalts }, day, false},
	{"deliveries", "Settled webhook deliveries and their attempts", func(r *Retention) *time.Duration { return &r.Deliveries }, 7 * day, false},
	{"idempotency", "Responses stored for the Idempotency-Key header", func(r *Retention) *time.Duration { return &r.Idempotency }, day, false},
	{"spent", "Tokens, grants and links after their expiry", func(r *Retention) *time.Duration { return &r.Spent }, day, false},
}

// Stored is how long a class of data is stored; For is zero without limit, until the subject is erased.
type Stored struct {
	Class, What string
	For         time.Duration
}

// Stored returns all classes in the order of docs/retention.md.
func (r Retention) Stored() []Stored {
	out := make([]Stored, len(classes))
	for i, c := range classes {
		out[i] = Stored{c.name, c.what, *c.field(&r)}
	}
	return out
}

// ParseRetention parses a setting such as "frames=30d,authorizations=2555d,events=never": classes with the number of days that
// they are stored. Classes that it does not name have their default.
func ParseRetention(setting string) (Retention, error) {
	r := DefaultRetention()
	given := map[string]bool{}
	for part := range strings.SplitSeq(setting, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok || given[name] {
			return r, fmt.Errorf("%q: want class=days, with each class at most once, such as frames=30d", part)
		}
		given[name] = true
		if err := r.set(name, value); err != nil {
			return r, err
		}
	}
	return r, nil
}

// set parses the value of one class.
func (r *Retention) set(name, value string) error {
	var names []string
	for _, c := range classes {
		names = append(names, c.name)
		if c.name != name {
			continue
		}
		if value == "never" && c.unlimited {
			*c.field(r) = 0
			return nil
		}
		n, err := strconv.Atoi(strings.TrimSuffix(value, "d"))
		keep := time.Duration(n) * day
		if err != nil || !strings.HasSuffix(value, "d") || n > 36500 || keep < c.minimum {
			return fmt.Errorf("%s=%q: want a number of days from %dd to 36500d", name, value, c.minimum/day)
		}
		*c.field(r) = keep
		return nil
	}
	return fmt.Errorf("unknown class of data %q: want one of %s", name, strings.Join(names, ", "))
}

// RetentionDeps are the dependencies of RetentionTasks; all are required.
type RetentionDeps struct {
	Store     *pg.Store
	Research  *research.Service
	Retention Retention
}

// RetentionTasks returns the tasks that delete data past its retention. Each class is a separate task, so that a failure does
// not block the others.
func RetentionTasks(d RetentionDeps) []Task {
	tasks := []Task{
		{Name: "retention", Every: time.Hour, About: "Delete expired tokens, stored responses, old deliveries and quota windows", Do: d.housekeeping},
		{Name: "list-entries", Every: time.Hour, About: "Remove entries of lists past their expiry", Do: d.entries},
		{Name: "research-salts", Every: time.Hour, About: "End research periods and destroy their salts", Do: d.salts},
	}
	for _, c := range []struct {
		name audit.Expiring
		keep time.Duration
	}{
		{audit.ExpiringFrames, d.Retention.Frames},
		{audit.ExpiringDigests, d.Retention.Digests},
		{audit.ExpiringSessions, d.Retention.Sessions},
		{audit.ExpiringTemplates, d.Retention.Templates},
		{audit.ExpiringBackgrounds, d.Retention.Templates},
		{audit.ExpiringAuthorizations, d.Retention.Authorizations},
		{audit.ExpiringDetails, d.Retention.Details},
		{audit.ExpiringKept, d.Retention.Kept},
		{audit.ExpiringAggregates, d.Retention.Aggregates},
		{audit.ExpiringSignals, d.Retention.Signals},
		{audit.ExpiringNotes, d.Retention.Notes},
		{audit.ExpiringEvents, d.Retention.Events},
		{audit.ExpiringResearch, d.Retention.Research},
	} {
		tasks = append(tasks, Task{Name: "retention-" + string(c.name), Every: time.Hour, About: "Delete " + string(c.name) + " past their retention",
			Do: d.expire(c.name, c.keep)})
	}
	return tasks
}

// expire returns a task that deletes a batch of a class and records it in every environment concerned.
func (d RetentionDeps) expire(class audit.Expiring, keep time.Duration) func(context.Context, time.Time, string) (int, bool, error) {
	return func(ctx context.Context, at time.Time, by string) (int, bool, error) {
		if keep == 0 {
			return 0, false, nil
		}
		record := func(q *pg.Q, gone []research.EnvironmentCount) error {
			for _, g := range gone {
				if err := recordRemoval(ctx, q, removal{class, g, at.Add(-keep)}, at, by); err != nil {
					return err
				}
			}
			return nil
		}
		n := 0
		err := d.Store.Write(ctx, func(q *pg.Q) error {
			gone, err := expireRows(ctx, q, class, at.Add(-keep), at, retentionBatch)
			if err != nil {
				return err
			}
			n = 0
			for _, g := range gone {
				n += int(g.Rows)
			}
			return record(q, gone)
		})
		return n, n == retentionBatch, err
	}
}

// removal is the deletion of rows of a class, older than a time, in one environment.
type removal struct {
	class  audit.Expiring
	gone   research.EnvironmentCount
	before time.Time
}

// recordRemoval records retention.executed, or research.vectors_removed for research vectors, in the environment.
func recordRemoval(ctx context.Context, q *pg.Q, e removal, at time.Time, by string) error {
	g := e.gone
	var data events.Data = events.RetentionExecutedData{Class: string(e.class), Removed: g.Rows, OlderThan: apitime.Time(e.before)}
	if e.class == audit.ExpiringResearch {
		data = events.ResearchVectorsRemovedData{Removed: g.Rows}
	}
	return events.Append(ctx, q, events.Entry{
		Scope: pg.Scope{Tenant: g.Tenant, Environment: g.Environment}, At: at, Actor: "workflow:" + by, WorkflowID: by, Data: data,
	})
}

// salts ends research periods and destroys their salts.
func (d RetentionDeps) salts(ctx context.Context, at time.Time, by string) (int, bool, error) {
	return d.Research.Rotate(ctx, d.Retention.ResearchSalts, at, by)
}

// entries removes entries of lists that have expired.
func (d RetentionDeps) entries(ctx context.Context, at time.Time, by string) (int, bool, error) {
	return lists.DropExpired(ctx, d.Store, at.Add(-d.Retention.Spent), lists.By{Actor: "workflow:" + by, WorkflowID: by}, at)
}

// endingsKept is for how long endings are stored after nothing needs them: clocks may differ by less.
const endingsKept = time.Hour

// housekeeping deletes a batch of each kind of technical data. It records no event: none of it belongs to a subject's record.
func (d RetentionDeps) housekeeping(ctx context.Context, at time.Time, _ string) (int, bool, error) {
	all, more := 0, false
	for _, drop := range []struct {
		keep time.Duration
		do   func(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error)
	}{
		{d.Retention.Deliveries, dropAttempts},
		{d.Retention.Deliveries, dropDeliveries},
		{d.Retention.Deliveries, dropNotices},
		{d.Retention.Spent, identity.DropClientTokens},
		{d.Retention.Spent, passkey.DropGrants},
		{d.Retention.Spent, challenge.DropLinks},
		{d.Retention.Spent, standing.DropLinks},
		{d.Retention.Aggregates, aggregate.DropLocks},
		{d.Retention.Spent, staff.DropExpired},
		{d.Retention.Spent, research.DropPeriods},
		{endingsKept, pg.DropEndings},
		{0, subject.DropErasedTerms},
		{d.Retention.Idempotency, unbatched(idempotency.Drop)},
		{quotaRetention, unbatched(ratelimit.DropQuotas)},
	} {
		var n int64
		err := d.Store.Write(ctx, func(q *pg.Q) (err error) {
			n, err = drop.do(ctx, q, at.Add(-drop.keep), batch)
			return err
		})
		if err != nil {
			return all, true, err
		}
		all += int(n)
		more = more || n == batch
	}
	return all, more, nil
}

// unbatched adapts a deletion without a limit to housekeeping.
func unbatched(drop func(ctx context.Context, q *pg.Q, t time.Time) (int64, error)) func(context.Context, *pg.Q, time.Time, int) (int64, error) {
	return func(ctx context.Context, q *pg.Q, t time.Time, _ int) (int64, error) {
		n, err := drop(ctx, q, t)
		// Everything was deleted; a full batch would ask for another call.
		return min(n, batch-1), err
	}
}
