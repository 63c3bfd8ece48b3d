package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// The kinds of finding about stored data, as opposed to the log itself.
const (
	// Stored data differs from the log.
	Contradicted Kind = "contradicted"
	// Stored data without an entry in the log.
	Unsupported Kind = "unsupported"
	// Data named by an entry is missing, without an entry of its removal.
	Missing Kind = "missing"
)

// State counts the resources compared with the log.
type State struct {
	Decisions  int64 `json:"decisions"`
	Challenges int64 `json:"challenges"`
	Holds      int64 `json:"holds"`
	Proofs     int64 `json:"proofs"`
	Subjects   int64 `json:"subjects"`
	Templates  int64 `json:"templates"`
	Passkeys   int64 `json:"passkeys"`
	Erasures   int64 `json:"erasures"`
	// Rows of configuration and staff.
	Rows int64 `json:"rows"`
	// Decisions that an erasure or retention removed, according to the log.
	Removed int64 `json:"removed"`
}

// statePage is the number of decisions or subjects read at once. It bounds the memory of an audit.
const statePage = 200

// shortestRetention is the shortest retention that can be configured for decisions (internal/subject/upkeep).
const shortestRetention = 30 * 24 * time.Hour

// reconciliation compares the stored data of one environment with its log, in one snapshot.
type reconciliation struct {
	q        *pg.Q
	scope    pg.Scope
	state    State
	findings []Finding
	progress func(step string, done int64)
	// Older decisions may have been removed.
	retained time.Time
}

// full reports whether the limit of findings is reached.
func (r *reconciliation) full() bool { return len(r.findings) >= maxFindings }

// found adds a finding, up to the limit.
func (r *reconciliation) found(f Finding) {
	if !r.full() {
		r.findings = append(r.findings, f)
	}
}

// run looks for impossible steps, then compares decisions, subjects, erasures and erased entries; it stops when the findings are full.
func (r *reconciliation) run(ctx context.Context) error {
	var err error
	if r.retained, err = retainedFrom(ctx, r.q, r.scope, ExpiringAuthorizations, shortestRetention); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.steps, r.decisions, r.unlogged, r.evaluations, r.rows, r.entries, r.subjects, r.erasures} {
		if err := step(ctx); err != nil || r.full() {
			return err
		}
	}
	return nil
}

// decisions compares every decision of the log with its stored rows, a page at a time.
func (r *reconciliation) decisions(ctx context.Context) error {
	var after RowPosition
	for !r.full() {
		page, err := decisionRecords(ctx, r.q, r.scope, after, statePage)
		if err != nil {
			return err
		}
		if err := r.page(ctx, page); err != nil {
			return err
		}
		r.progress("decisions", r.state.Decisions)
		if len(page) < statePage {
			return nil
		}
		last := page[len(page)-1].Decided
		after = RowPosition{At: last.At, ID: last.ID}
	}
	return nil
}

// page compares one page of decisions; those missing because of an erasure or retention are counted as removed.
func (r *reconciliation) page(ctx context.Context, page []DecisionRecord) error {
	var uids []string
	for _, d := range page {
		if d.Decided.SubjectUID != nil && d.Authorization == nil {
			uids = append(uids, *d.Decided.SubjectUID)
		}
	}
	erasing, err := isErasing(ctx, r.q, r.scope, uids)
	if err != nil {
		return err
	}
	for _, d := range page {
		r.state.Decisions++
		switch e := d.Decided; {
		case d.Authorization == nil && (e.ErasedAt != nil || e.At.Before(r.retained) || e.SubjectUID != nil && erasing[*e.SubjectUID]):
			r.state.Removed++
		case d.Authorization == nil:
			r.found(Finding{Kind: Missing, Event: e.ID, Target: *e.AuthorizationID, Field: "authorizations",
				Detail: "the decision is in the log and stored no more, and neither an erasure nor retention removed it"})
		default:
			r.compare(d)
			if len(pg.Unaltered(ctx, r.q, d.Reviews)) < len(d.Reviews) { // who a reviewer counts as is no fact of the log
				r.found(Finding{Kind: Contradicted, Event: e.ID, Target: d.Authorization.ID, Field: "reviews",
					Detail: "a review was altered outside of the service"})
			}
		}
	}
	return nil
}

// compare adds the contradictions of one decision and counts the rows compared.
func (r *reconciliation) compare(d DecisionRecord) {
	if d.Challenge != nil {
		r.state.Challenges++
	}
	if d.Hold != nil {
		r.state.Holds++
	}
	if d.Proof != nil {
		r.state.Proofs++
	}
	for _, f := range Contradictions(d) {
		r.found(f)
	}
}

// unlogged finds stored decisions without an entry in the log.
func (r *reconciliation) unlogged(ctx context.Context) error {
	ids, err := unloggedDecisions(ctx, r.q, r.scope, maxFindings)
	for _, id := range ids {
		r.found(Finding{Kind: Unsupported, Target: id, Field: "authorizations", Detail: "the decision is stored without an entry in the log"})
	}
	return err
}

// comparison collects the differences between one stored resource and the log.
type comparison struct {
	target   string
	event    string
	findings []Finding
}

// add adds a finding about a field of the resource.
func (c *comparison) add(k Kind, field, wanted, found, detail string) {
	c.findings = append(c.findings, Finding{Kind: k, Event: c.event, Target: c.target, Field: field, Wanted: wanted, Found: found, Detail: detail})
}

// same adds a finding if the stored value differs from the logged one.
func (c *comparison) same(field, wanted, found string) {
	if wanted != found {
		c.add(Contradicted, field, wanted, found, fmt.Sprintf("%s: the log says %s, stored is %s", field, quoted(wanted), quoted(found)))
	}
}

// at is same for times, to the microsecond: Postgres stores no more.
func (c *comparison) at(field string, wanted, found *time.Time) {
	c.same(field, instant(wanted), instant(found))
}

func instant(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}

func quoted(s string) string {
	if s == "" {
		return "nothing"
	}
	return fmt.Sprintf("%q", s)
}

// facts is the data of an entry; nil if it is erased.
type facts map[string]any

// factsOf decodes the data of an entry; nil for no entry, erased data or unreadable data.
func factsOf(e *models.Event) facts {
	if e == nil || e.Data == nil {
		return nil
	}
	var out facts
	if json.Unmarshal(e.Data, &out) != nil {
		return nil // the check of the chain reports the entry as altered
	}
	return out
}

// text returns a field for comparison: a string unchanged, anything else as JSON, "" for a missing field.
func (f facts) text(name string) string {
	switch v := f[name].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		raw, _ := json.Marshal(v)
		return string(raw)
	}
}

// words returns a list of strings; never nil.
func (f facts) words(name string) []string {
	list, _ := f[name].([]any)
	out := make([]string, len(list))
	for i, v := range list {
		out[i], _ = v.(string)
	}
	return out
}
