package console

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

// Check is one thing that readiness depends on: ok, degraded or unavailable.
type Check struct {
	Name, State string
}

// Worker is a process that polls for Temporal tasks.
type Worker struct {
	Identity string
	Kind     string // workflow or activity
	LastSeen time.Time
}

type queueRow struct {
	Name, About string
	Waiting     int64
	Oldest      *stamp
	Tone        string
}

type workerRow struct {
	Worker
	Seen stamp
}

type healthView struct {
	Checks       []tag
	Names        []string
	Queues       []queueRow
	Workers      []workerRow
	Known        bool   // Temporal returned the workers
	WorkersFault string // why the workers are unknown; empty if they are known
	Links        int64
	Now          stamp
	// Granted is enrollment_grant_required of the environment.
	Granted bool
}

// late is the age from which the oldest entry of a queue is shown as delayed.
const late = time.Minute

func (c *console) health(v *visit) error {
	now := stamps{c.Clock.Now()}
	view := healthView{Now: now.at(now.now), Granted: v.grant.Environment.EnrollmentGrantRequired}
	for _, k := range c.Checks(v.ctx) {
		view.Names = append(view.Names, k.Name)
		view.Checks = append(view.Checks, tagOf(k.State))
	}
	q, err := c.Reader.Queues(v.ctx, v.scope())
	if err != nil {
		return err
	}
	view.Links = q.Chain.Links
	for _, b := range q.Outbox {
		view.Queues = append(view.Queues, queue(now, "Outbox: "+b.Topic, "work that follows a commit", b.Waiting, &b.Oldest, late))
	}
	if len(q.Outbox) == 0 {
		view.Queues = append(view.Queues, queue(now, "Outbox", "work that follows a commit", 0, nil, late))
	}
	var owed int64
	var oldest *time.Time
	for _, e := range q.Endpoints {
		owed += e.Waiting
		if oldest == nil || e.Oldest.Before(*oldest) {
			oldest = &e.Oldest
		}
	}
	view.Queues = append(view.Queues,
		queue(now, "Webhook deliveries", "pending deliveries, including retries", owed, oldest, time.Hour),
		queue(now, "Audit chain", "entries that are not sealed yet", q.Chain.Unsealed, q.Chain.Oldest, late),
		queue(now, "Holds", "decisions waiting for a reviewer", q.Holds.Pending, q.Holds.OldestOpenedAt, 24*time.Hour),
		queue(now, "Challenges", "open challenges; they expire", q.Challenges, nil, late),
	)
	c.workers(v, &view, now)
	return v.page(fiber.StatusOK, "health.html", "Health", "health", view)
}

func queue(now stamps, name, about string, waiting int64, oldest *time.Time, limit time.Duration) queueRow {
	row := queueRow{Name: name, About: about, Waiting: waiting, Tone: "good"}
	if waiting > 0 && oldest != nil {
		row.Oldest = now.maybe(oldest)
		if now.now.Sub(*oldest) > limit {
			row.Tone = "warn"
		}
	}
	return row
}

func (c *console) workers(v *visit, view *healthView, now stamps) {
	if c.Workers == nil {
		return
	}
	found, err := c.Workers(v.ctx)
	if err != nil {
		view.WorkersFault = "Temporal is unavailable, so the workers cannot be listed. Decisions continue; challenges and reviews wait."
		return
	}
	view.Known = true
	for _, w := range found {
		view.Workers = append(view.Workers, workerRow{w, now.at(w.LastSeen)})
	}
}

type auditRow struct {
	Seq    int64
	At     stamp
	Type   string
	About  string
	Who    actor
	URL    string
	Short  string
	Erased bool
}

type auditView struct {
	Rows  []auditRow
	Next  string
	Actor string
	Type  string
	Links int64
	Since string
	Until string
	Fault string
}

// audit lists the sealed log, newest first.
func (c *console) audit(v *visit) error {
	view := auditView{Actor: v.query("actor"), Type: v.query("type"), Since: v.query("since"), Until: v.query("until")}
	f := store.AuditFilter{Actor: view.Actor, Type: view.Type}
	if f.Since, f.Until, view.Fault = window(view.Since, view.Until); view.Fault != "" {
		return v.page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
	}
	links, reach, next, err := c.Reader.AuditEntries(v.ctx, v.scope(), f, store.Page{Limit: 100, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view.Links = reach.Links
	var actors []string
	for _, l := range links {
		actors = append(actors, l.Event.Actor)
	}
	names, err := c.Reader.Names(v.ctx, v.grant.Environment.TenantID, actors)
	if err != nil {
		return err
	}
	now := stamps{c.Clock.Now()}
	for _, l := range links {
		row := auditRow{Seq: l.Seq, At: now.at(l.Event.At), Type: l.Event.Type, Who: actorOf(l.Event.Actor, names), Erased: l.Event.ErasedAt != nil}
		if id := l.Event.AuthorizationID; id != nil {
			row.URL, row.Short = v.at("decisions", *id), short(*id)
		}
		view.Rows = append(view.Rows, row)
	}
	if next != "" {
		view.Next = v.at("audit") + "?" + query(map[string]string{"actor": view.Actor, "type": view.Type, "since": view.Since, "until": view.Until, "cursor": next})
	}
	return v.page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
}
