package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// The kinds of finding about what is stored, as opposed to the log itself.
const (
	Contradicted Kind = "contradicted" // what is stored is not what the log says
	Unsupported  Kind = "unsupported"  // something is stored that no entry of the log made
	Missing      Kind = "missing"      // an entry tells of something that is gone, and no entry of its removal
)

// State counts what was compared with the log.
type State struct {
	Decisions  int64 `json:"decisions"`
	Challenges int64 `json:"challenges"`
	Holds      int64 `json:"holds"`
	Proofs     int64 `json:"proofs"`
	Subjects   int64 `json:"subjects"`
	Templates  int64 `json:"templates"`
	Passkeys   int64 `json:"passkeys"`
	Erasures   int64 `json:"erasures"`
	Removed    int64 `json:"removed"` // decisions that an erasure or retention removed, as the log says
}

// statePage is how many decisions or subjects are read at once; with what hangs on each it bounds the memory of an audit.
const statePage = 200

// shortestRetention of decisions and of entries that can be set (internal/subject/upkeep).
const shortestRetention = 30 * 24 * time.Hour

// reconciliation compares what is stored in one environment with its log, on one snapshot.
type reconciliation struct {
	q        *store.Q
	scope    store.Scope
	state    State
	findings []Finding
	progress func(step string, done int64)
	retained time.Time // decisions from before it may be gone
	silent   time.Time // entries from before it may have lost their personal part
}

func (r *reconciliation) full() bool { return len(r.findings) >= maxFindings }

func (r *reconciliation) found(f Finding) {
	if !r.full() {
		r.findings = append(r.findings, f)
	}
}

func (r *reconciliation) run(ctx context.Context) error {
	var err error
	if r.retained, err = r.q.Audit().RetainedFrom(ctx, r.scope, store.ExpiringAuthorizations, shortestRetention); err != nil {
		return err
	}
	if r.silent, err = r.q.Audit().RetainedFrom(ctx, r.scope, store.ExpiringEvents, shortestRetention); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.decisions, r.unlogged, r.subjects, r.erasures} {
		if err := step(ctx); err != nil || r.full() {
			return err
		}
	}
	return nil
}

// decisions holds every decision in the log against what is stored of it, a page at a time.
func (r *reconciliation) decisions(ctx context.Context) error {
	var after store.RowPosition
	for !r.full() {
		page, err := r.q.Audit().DecisionRecords(ctx, r.scope, after, statePage)
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
		after = store.RowPosition{At: last.At, ID: last.ID}
	}
	return nil
}

func (r *reconciliation) page(ctx context.Context, page []store.DecisionRecord) error {
	var uids []string
	var times []time.Time
	for _, d := range page {
		if d.Decided.SubjectUID != nil && d.Authorization == nil {
			uids = append(uids, *d.Decided.SubjectUID)
		}
		if d.Decided.ErasedAt != nil && d.Authorization != nil {
			times = append(times, *d.Decided.ErasedAt)
		}
	}
	erasing := map[string]bool{}
	var err error
	if len(uids) > 0 {
		if erasing, err = r.q.Audit().Erasing(ctx, r.scope, uids); err != nil {
			return err
		}
	}
	byRetention, err := r.q.Audit().RetentionRuns(ctx, r.scope, times)
	if err != nil {
		return err
	}
	for _, d := range page {
		r.state.Decisions++
		switch e := d.Decided; {
		case d.Authorization == nil && (e.ErasedAt != nil || e.At.Before(r.retained) || e.SubjectUID != nil && erasing[*e.SubjectUID]):
			r.state.Removed++
		case d.Authorization == nil:
			r.found(Finding{Kind: Missing, Event: e.ID, Target: *e.AuthorizationID,
				Detail: "the decision is in the log and stored no more, and neither an erasure nor retention removed it"})
		case e.ErasedAt != nil && !byRetention[e.ErasedAt.UTC()]:
			r.found(Finding{Kind: Contradicted, Event: e.ID, Target: *e.AuthorizationID,
				Detail: "the entry was erased with its subject, and the decision is still stored"})
		default:
			r.compare(d)
		}
	}
	return nil
}

func (r *reconciliation) compare(d store.DecisionRecord) {
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

func (r *reconciliation) unlogged(ctx context.Context) error {
	ids, err := r.q.Audit().UnloggedDecisions(ctx, r.scope, maxFindings)
	for _, id := range ids {
		r.found(Finding{Kind: Unsupported, Target: id, Detail: "the decision is stored and no entry of the log tells of it"})
	}
	return err
}

// comparison gathers what differs between what is stored of one thing and what the log says of it.
type comparison struct {
	target   string
	event    string
	findings []Finding
}

func (c *comparison) add(k Kind, field, wanted, found, detail string) {
	c.findings = append(c.findings, Finding{Kind: k, Event: c.event, Target: c.target, Field: field, Wanted: wanted, Found: found, Detail: detail})
}

// same requires a stored value to be the logged one.
func (c *comparison) same(field, wanted, found string) {
	if wanted != found {
		c.add(Contradicted, field, wanted, found, fmt.Sprintf("%s: the log says %s, stored is %s", field, quoted(wanted), quoted(found)))
	}
}

func quoted(s string) string {
	if s == "" {
		return "nothing"
	}
	return fmt.Sprintf("%q", s)
}

// facts is the data of an entry; nil if it is erased.
type facts map[string]any

func factsOf(e *models.Event) facts {
	if e == nil || e.Data == nil {
		return nil
	}
	var out facts
	if json.Unmarshal(e.Data, &out) != nil {
		return nil // the walk of the chain says that the entry was altered
	}
	return out
}

// text is a field as it is compared: a string as it is, anything else as JSON, nothing for a field that is not there.
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

// words is a list of texts; never nil.
func (f facts) words(name string) []string {
	list, _ := f[name].([]any)
	out := make([]string, len(list))
	for i, v := range list {
		out[i], _ = v.(string)
	}
	return out
}

func (f facts) has(name string) bool { _, ok := f[name]; return ok }
