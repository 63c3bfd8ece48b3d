package consolequery

import (
	"time"
)

// Ages from which work that waits is late. docs/operations.md states them, and deploy/prometheus/alerts.yml alerts at the same ones; a
// test compares the three.
const (
	LateOutbox   = time.Minute
	LateEndpoint = 5 * time.Minute // since the first failed attempt without a success
	LateDelivery = 5 * time.Minute // since the next attempt was due
	LateTimer    = 10 * time.Minute
	LateHold     = 36 * time.Hour
	LateSeal     = time.Minute
	LateExport   = 5 * time.Minute // since the first entry that a destination has not confirmed was sealed
)

// Severity of a finding.
type Severity string

// The severities. Late work that a person of the tenant has to do is Delayed and not Broken.
const (
	Fine    Severity = "ok"
	Delayed Severity = "delayed"
	Broken  Severity = "broken"
)

// Kinds of findings.
const (
	KindOutbox     = "outbox"
	KindEndpoints  = "endpoints"
	KindDeliveries = "deliveries"
	KindTimers     = "timers"
	KindAudit      = "audit"
	KindHolds      = "holds"
	KindAfter      = "after_reviews"
	KindExports    = "exports"
)

// Finding is one kind of work that waits, and whether it waits too long.
type Finding struct {
	Kind     string
	Severity Severity
	Count    int64         // records that wait
	Since    *time.Time    // since when the oldest waits; nil if none does
	Limit    time.Duration // age from which it is not Fine any more
}

// Judge returns a finding for each kind of work, in the order in which a page lists them.
func (q Queues) Judge() []Finding {
	outbox := Late{}
	for _, b := range q.Outbox {
		outbox.Count += b.Waiting
		if outbox.Since == nil || b.Oldest.Before(*outbox.Since) {
			outbox.Since = &b.Oldest
		}
	}
	return []Finding{
		q.judge(KindEndpoints, q.Failing, LateEndpoint, Broken),
		q.judge(KindDeliveries, q.Due, LateDelivery, Broken),
		q.judge(KindOutbox, outbox, LateOutbox, Broken),
		q.judge(KindTimers, q.Overdue, LateTimer, Broken),
		q.judge(KindAudit, Late{Count: q.Chain.Unsealed, Since: q.Chain.Oldest}, LateSeal, Broken),
		q.judge(KindExports, q.Exports, LateExport, Broken),
		q.judge(KindHolds, Late{Count: q.Holds.Pending, Since: q.Holds.OldestOpenedAt}, LateHold, Delayed),
		q.judge(KindAfter, q.After, 0, Broken),
	}
}

// judge returns the finding of one kind. An endpoint that fails is Delayed at once, because each attempt is repeated; so is a break-glass that waits for
// its review.
func (q Queues) judge(kind string, l Late, limit time.Duration, late Severity) Finding {
	f := Finding{Kind: kind, Severity: Fine, Count: l.Count, Limit: limit}
	if l.Count == 0 {
		return f
	}
	f.Since = l.Since
	switch {
	case l.Since != nil && q.Now.Sub(*l.Since) > limit:
		f.Severity = late
	case kind == KindEndpoints, kind == KindAfter:
		f.Severity = Delayed
	}
	return f
}
