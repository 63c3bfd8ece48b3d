package health

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/web/console/keys"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// Check is one thing that readiness depends on: ok, starting, degraded or unavailable.
type Check struct {
	Name, State string
	Starting    string // how far the start of the part is, as a sentence without a capital and a full stop; empty unless it starts
	Loss        string // what cannot be done while it is degraded, in a sentence; empty unless it is
}

// findingRow is one line of the health page.
type findingRow struct {
	Name, About string
	Waiting     string // number of records; empty if the line does not count any
	Since       *show.Stamp
	Limit       string // age from which it is late
	State       show.Tag
	Remedy      string // empty if nothing is wrong
	URL         string // of the page that shows more; empty for none
}

type workerRow struct {
	durable.Poller
	Seen show.Stamp
}

type healthView struct {
	Checks       []show.Tag
	Names        []string
	Broken       int // lines that are red
	Altered      int // stored records that were changed outside of the service
	Delayed      int // lines that are amber
	Findings     []findingRow
	Workers      []workerRow
	Known        bool   // Temporal returned the workers
	WorkersFault string // why the workers are unknown; empty if they are known
	Starting     string // what is being started; empty if nothing is
	Links        int64
	Now          show.Stamp
	// Granted is enrollment_grant_required of the environment.
	Granted bool
}

func (c *Pages) health(v *shell.Visit) error {
	view, err := c.examine(v)
	if err != nil {
		return err
	}
	return v.Page(fiber.StatusOK, "health.html", "Health", "health", view)
}

// examine measures the environment and stores the number of problems for the navigation.
func (c *Pages) examine(v *shell.Visit) (healthView, error) {
	now := show.Stamps{Now: c.Clock.Now()}
	view := healthView{Now: now.At(now.Now), Granted: v.Grant.Environment.EnrollmentGrantRequired}
	c.dependencies(v, &view)
	q, err := c.Reader.Queues(v.Context, v.Scope())
	if err != nil {
		return view, err
	}
	view.Links = q.Chain.Links
	if err := c.signs(v, &view); err != nil {
		return view, err
	}
	if err := c.orphans(v, &view); err != nil {
		return view, err
	}
	if err := c.altered(v, &view); err != nil {
		return view, err
	}
	if err := c.hours(v, &view); err != nil {
		return view, err
	}
	for _, f := range q.Judge() {
		view.add(v, now, f)
	}
	view.quotas(v, now, q.Quotas)
	c.workers(v, &view, now)
	for _, f := range view.Findings {
		switch f.State.Tone {
		case "bad":
			view.Broken++
		case "warn":
			view.Delayed++
		}
	}
	c.verdicts.put(v.Grant.Environment.ID, verdict{broken: view.Broken, altered: view.Altered > 0})
	return view, nil
}

// dependencies adds the readiness checks, as the operations port reports them.
func (c *Pages) dependencies(v *shell.Visit, view *healthView) {
	for _, k := range c.Checks(v.Context) {
		view.Names = append(view.Names, k.Name)
		view.Checks = append(view.Checks, show.TagOf(k.State))
		if show.Tone(k.State) == "good" {
			continue
		}
		remedy := strings.TrimSpace(k.Loss + " The operator of the service finds the cause in the log of this process.")
		if k.Starting != "" {
			view.Starting = show.Capital(k.Starting) + ". " + afterStart
			remedy = view.Starting
		}
		view.Findings = append(view.Findings, findingRow{
			Name: "Dependency: " + k.Name, About: "as /readyz of this process reports it", State: show.TagOf(k.State), Remedy: remedy,
		})
	}
}

// afterStart says what the start of the workflow engine delays.
const afterStart = "Decisions continue; challenges, holds and enrollments are served as soon as it runs."

// signs adds whether this process can sign proofs of the environment.
func (c *Pages) signs(v *shell.Visit, view *healthView) error {
	able, err := c.Signing.Ability(v.Context, v.Scope())
	var altered *pg.Altered
	if errors.As(err, &altered) {
		able, err = signing.Unable, nil
	}
	row := findingRow{Name: "Signing key", About: "the key that signs proofs can be decrypted", State: show.Tag{Text: "ok", Tone: "good"}}
	switch able {
	case signing.Unable:
		row.State = show.Tag{Text: "cannot sign", Tone: "bad"}
		row.Remedy = "Every allow that needs a proof fails. The operator of the service restores COUNTERSIGN_MASTER_KEY; countersign key list shows the keys."
	case signing.StandIn:
		row.State = show.Tag{Text: "a different key signs", Tone: "warn"}
		row.Remedy = "The active key cannot be decrypted. The operator of the service runs countersign key rotate."
	}
	view.Findings = append(view.Findings, row)
	return err
}

// orphans adds whether keys are in force whose source is not.
func (c *Pages) orphans(v *shell.Visit, view *healthView) error {
	orphans, err := c.Credentials.Orphans(v.Context, v.Scope())
	row := findingRow{Name: "API keys", About: "keys whose issuer or owner has lost access", Waiting: strconv.Itoa(len(orphans)), State: show.Tag{Text: "ok", Tone: "good"}}
	if len(orphans) > 0 {
		row.State, row.URL = show.Tag{Text: "to be revoked", Tone: "warn"}, v.At("keys")
		row.Remedy = "Revoke " + keys.Names(orphans) + ". The operator of the service lists them with countersign credential orphans."
	}
	view.Findings = append(view.Findings, row)
	return err
}

// altered adds whether records that decide were changed outside of the service.
func (c *Pages) altered(v *shell.Visit, view *healthView) error {
	rows, err := c.Reader.Altered(v.Context, v.Scope())
	view.Altered = len(rows)
	row := findingRow{Name: "Stored records", About: "records that decide and were changed outside of the service", Waiting: strconv.Itoa(len(rows)), State: show.Tag{Text: "ok", Tone: "good"}}
	if len(rows) > 0 {
		row.State = show.Tag{Text: "altered", Tone: "bad"}
		row.Remedy = "What rests on them is refused: " + strings.Join(rows, ", ") + ". The operator of the service finds out who changed them and restores them; they are named here for 24 hours."
	}
	view.Findings = append(view.Findings, row)
	return err
}

// hours adds whether policies count working hours in an environment without a calendar. Their times count all hours then, so that holds expire earlier.
func (c *Pages) hours(v *shell.Visit, view *healthView) error {
	counting, err := c.Reader.CountingHours(v.Context, v.Scope())
	row := findingRow{
		Name: "Working hours", About: "policies that count working hours", Waiting: strconv.Itoa(len(counting)), State: show.Tag{Text: "ok", Tone: "good"},
	}
	if len(counting) > 0 && tenancy.Calendar(v.Grant.Environment.Settings) == nil {
		row.State, row.URL = show.Tag{Text: "no calendar", Tone: "warn"}, v.At("settings")
		row.Remedy = "Times of new steps count all hours: holds expire earlier, and other teams may approve earlier. Set the working hours, or activate policies without them: " + strings.Join(counting, ", ") + "."
	}
	view.Findings = append(view.Findings, row)
	return err
}

// findingTexts describe the kinds of findings: name, contents, remedy and the page that shows more.
var findingTexts = map[string]struct{ name, about, remedy, page string }{
	reads.KindEndpoints:  {"Webhook endpoints", "endpoints that are failing", "Open the endpoint: its attempts show the response. Correct the receiver; deliveries are repeated for five days.", "webhooks"},
	reads.KindDeliveries: {"Webhook deliveries", "deliveries whose next attempt is due", "Correct the endpoint that fails. If none fails, the workers are behind.", "webhooks"},
	reads.KindOutbox:     {"Outbox", "work that is due and has not started", "The operator of the service checks Temporal and the workers. Decisions continue.", ""},
	reads.KindTimers:     {"Timers", "challenges, holds, changes and evaluations past their end", "Pages and the API show them as expired already. The operator of the service checks the workers.", ""},
	reads.KindAudit:      {"Audit log", "entries that are not sealed", "The operator of the service checks the workers: one of them seals the log.", "audit"},
	reads.KindExports:    {"Export of the log", "entries that a destination has not confirmed", "The page of the destinations says the last error of each: correct the receiver or the credentials. Nothing is skipped.", "destinations"},
	reads.KindAfter:      {"Break-glass", "approvals by one person alone that wait for their review", "Two others say whether it was justified. Once a review is overdue, no one can break the glass of its policy.", "after-reviews"},
	reads.KindHolds:      {"Holds", "decisions that wait for a reviewer", "Find a reviewer: a hold expires and is never approved by time.", "reviews"},
}

func (view *healthView) add(v *shell.Visit, now show.Stamps, f reads.Finding) {
	text := findingTexts[f.Kind]
	row := findingRow{
		Name: text.name, About: text.about, Waiting: strconv.Itoa(int(f.Count)), Since: now.Maybe(f.Since), Limit: show.Span(f.Limit), State: show.Tag{Text: "ok", Tone: "good"},
	}
	switch f.Severity {
	case reads.Broken:
		row.State = show.Tag{Text: "late", Tone: "bad"}
	case reads.Delayed:
		row.State = show.Tag{Text: "delayed", Tone: "warn"}
	}
	if f.Kind == reads.KindEndpoints && f.Severity != reads.Fine {
		row.State.Text = "failing"
	}
	if f.Severity != reads.Fine {
		row.Remedy = text.remedy
	}
	if text.page != "" && v.MayOpen(text.page) {
		row.URL = v.At(text.page)
	}
	view.Findings = append(view.Findings, row)
}

// quotaTexts describe the quotas of an environment that its callers share.
var quotaTexts = map[string]string{
	identity.QuotaServers: "the requests of all server and admin keys", identity.QuotaClients: "the requests of all client tokens and publishable keys",
}

// quotas adds a line for each quota that is nearly used up, or one if none is.
func (view *healthView) quotas(v *shell.Visit, now show.Stamps, nearly []ratelimit.NearlyUsed) {
	if len(nearly) == 0 {
		view.Findings = append(view.Findings, findingRow{Name: "Quotas", About: "requests an hour of keys and client tokens", Limit: "80 %", State: show.Tag{Text: "ok", Tone: "good"}})
	}
	for _, n := range nearly {
		quota, owner := identity.QuotaOf(n.Bucket)
		used := min(int(100*n.FullAt.Sub(now.Now)/ratelimit.Window), 100)
		row := findingRow{
			Name: "Quota", About: quotaTexts[quota], Since: now.Maybe(&n.Since), Limit: "80 %", State: show.Tag{Text: strconv.Itoa(used) + " % used", Tone: "warn"},
			Remedy: "It refills within an hour. Spread the requests, or ask the operator of the service for a higher limit.",
		}
		if quota == identity.QuotaKey {
			row.About = "the requests of " + owner
		}
		if used >= usedUpPercent {
			row.State = show.Tag{Text: "used up", Tone: "bad"}
			row.Remedy = "Requests are refused with 429 until it has refilled: seconds for one request, an hour for all. " + row.Remedy
		}
		if v.MayOpen("keys") {
			row.URL = v.At("keys")
		}
		view.Findings = append(view.Findings, row)
	}
}

// usedUpPercent is the share from which a quota is used up: processes reserve one per cent each.
const usedUpPercent = 99

func (c *Pages) workers(v *shell.Visit, view *healthView, now show.Stamps) {
	if c.Workers == nil {
		return
	}
	row := findingRow{Name: "Workers", About: "processes that run workflows and activities", State: show.Tag{Text: "ok", Tone: "good"}}
	found, err := c.Workers(v.Context)
	switch {
	case err != nil && view.Starting != "":
		view.WorkersFault = view.Starting
		row.State, row.Remedy = show.TagOf("starting"), view.Starting
	case err != nil:
		view.WorkersFault = "Temporal is unavailable, so the workers cannot be listed. Decisions continue; challenges and reviews wait."
		row.State, row.Remedy = show.Tag{Text: "unknown", Tone: "bad"}, view.WorkersFault
	case len(found) == 0:
		row.State, row.Remedy = show.Tag{Text: "none", Tone: "bad"}, "No worker is running. Challenges, reviews and webhooks wait until one starts."
	}
	view.Findings = append(view.Findings, row)
	view.Known = err == nil
	for _, w := range found {
		view.Workers = append(view.Workers, workerRow{w, now.At(w.LastSeen)})
	}
}

// verdictLife is how long the navigation shows the number of problems of one measurement; maxVerdicts bounds how many are stored.
const (
	verdictLife = 10 * time.Second
	maxVerdicts = 10_000
)

// verdicts stores the number of problems of each environment, so that not every page measures them.
type verdicts struct {
	clock clock.Clock
	mu    sync.Mutex
	of    map[string]verdict // by environment id
}

type verdict struct {
	broken  int
	altered bool
	at      time.Time
}

func newVerdicts(c clock.Clock) *verdicts { return &verdicts{clock: c, of: map[string]verdict{}} }

func (s *verdicts) put(environment string, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.of) >= maxVerdicts {
		clear(s.of)
	}
	v.at = s.clock.Now()
	s.of[environment] = v
}

func (s *verdicts) get(environment string) (verdict, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.of[environment]
	return known, ok && s.clock.Now().Sub(known.at) < verdictLife
}

// examineWithin bounds how long a page waits for the number of problems in its navigation.
const examineWithin = 2 * time.Second

// verdict sums the health page up; nothing is wrong if measuring fails, which does not fail the page.
func (c *Pages) verdict(v *shell.Visit) verdict {
	if known, ok := c.verdicts.get(v.Grant.Environment.ID); ok {
		return known
	}
	bounded := *v
	var cancel context.CancelFunc
	bounded.Context, cancel = context.WithTimeout(v.Context, examineWithin)
	defer cancel()
	view, err := c.examine(&bounded)
	if err != nil {
		return verdict{}
	}
	return verdict{broken: view.Broken, altered: view.Altered > 0}
}
