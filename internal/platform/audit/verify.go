package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Kind classifies a finding.
type Kind string

// The kinds of finding.
const (
	// An entry differs from its sealed digest.
	Altered Kind = "altered"
	// A link or an entry is missing.
	Removed Kind = "removed"
	// An entry is older than what waits to be sealed, and was never sealed.
	Inserted Kind = "inserted"
	// Links are not in sequence.
	Reordered Kind = "reordered"
	// The chain ends before its head, or before a head exported earlier.
	Truncated Kind = "truncated"
)

// Finding is one fault and its position. Sequence is the number of the link, 0 if there is none. A fault of stored data names
// the resource (Target), the field, the logged value (Wanted) and the stored value (Found).
type Finding struct {
	Kind     Kind   `json:"kind"`
	Sequence int64  `json:"sequence"`
	Event    string `json:"event,omitempty"`
	Target   string `json:"target,omitempty"`
	Field    string `json:"field,omitempty"`
	Wanted   string `json:"wanted,omitempty"`
	Found    string `json:"found,omitempty"`
	Detail   string `json:"detail"`
}

// Result is the result of verifying one environment.
type Result struct {
	Environment string `json:"environment"`
	Entries     int64  `json:"entries"` // links verified
	// Entries whose personal part was erased; their position and digest were verified.
	Erased   int64  `json:"erased"`
	Waiting  int64  `json:"waiting"` // entries not sealed yet
	Sequence int64  `json:"sequence"`
	Hash     string `json:"hash"`
	// The stored data compared with the log.
	State    State     `json:"state"`
	Findings []Finding `json:"findings"`
}

// Intact reports whether there are no findings.
func (r Result) Intact() bool { return len(r.Findings) == 0 }

const (
	walkBatch = 2000
	// Verification stops reporting after so many.
	maxFindings = 100
)

// Verifier verifies environments. Progress, if set, is called with a step and the number of items done; it must not block.
type Verifier struct {
	Store    *pg.Store
	Progress func(step string, done int64)
}

// Verify verifies an environment without progress.
func Verify(ctx context.Context, st *pg.Store, s pg.Scope, earlier *Head) (Result, error) {
	return Verifier{Store: st}.Verify(ctx, s, earlier)
}

// Verify checks every link of an environment's chain, then compares the stored data with the entries, both in one snapshot and
// a page at a time. A head exported earlier, if given, must still be in the chain: it reveals that the whole chain was rewritten,
// which the chain alone cannot.
func (v Verifier) Verify(ctx context.Context, s pg.Scope, earlier *Head) (Result, error) {
	progress := v.Progress
	if progress == nil {
		progress = func(string, int64) {}
	}
	w := traversal{scope: s, earlier: earlier, progress: progress, result: Result{Environment: s.Environment, Findings: []Finding{}}}
	err := v.Store.Read(ctx, func(q *pg.Q) error { return w.verify(ctx, q) })
	return w.result, err
}

// VerifyIn verifies an environment as a transaction sees it.
func VerifyIn(ctx context.Context, q *pg.Q, s pg.Scope) (Result, error) {
	w := traversal{scope: s, progress: func(string, int64) {}, result: Result{Environment: s.Environment, Findings: []Finding{}}}
	err := w.verify(ctx, q)
	return w.result, err
}

func (w *traversal) verify(ctx context.Context, q *pg.Q) error {
	if err := disableTimeout(ctx, q); err != nil {
		return err
	}
	if err := w.run(ctx, q); err != nil {
		return err
	}
	r := reconciliation{q: q, scope: w.scope, progress: w.progress}
	err := r.run(ctx)
	w.result.State, w.result.Findings = r.state, append(w.result.Findings, r.findings...)
	return err
}

// traversal is the state of one verification of a chain.
type traversal struct {
	scope   pg.Scope
	earlier *Head
	result  Result
	// Of the last link verified.
	hash []byte
	seq  int64
	// The earlier head is in the chain.
	matched  bool
	progress func(step string, done int64)
}

// run verifies the links in order, then the end of the chain and the gaps.
func (w *traversal) run(ctx context.Context, q *pg.Q) error {
	w.hash = Genesis(w.scope.Environment)
	w.matched = w.earlier == nil || w.earlier.Sequence == 0
	head, err := HeadOf(ctx, q, w.scope)
	if errors.Is(err, pg.ErrNotFound) {
		head = HeadRow{EnvironmentID: w.scope.Environment, Hash: w.hash}
	} else if err != nil {
		return err
	}
	for len(w.result.Findings) < maxFindings {
		links, err := ChainLinks(ctx, q, w.scope, w.seq+1, walkBatch)
		if err != nil {
			return err
		}
		for _, l := range links {
			w.check(l)
		}
		w.progress("links", w.seq)
		if len(links) < walkBatch {
			break
		}
	}
	w.end(head)
	return w.gaps(ctx, q, head)
}

// gaps finds entries that are in no link and are too old to be sealed, and counts those that wait.
func (w *traversal) gaps(ctx context.Context, q *pg.Q, head HeadRow) error {
	unlinked, waiting, err := findGaps(ctx, q, w.scope, head, maxFindings)
	if err != nil {
		return err
	}
	w.result.Waiting = waiting
	for _, id := range unlinked {
		w.find(Inserted, 0, id, "the entry is older than what waits to be sealed, and in no link")
	}
	return nil
}

// check compares one link with its predecessor and with its event. It then continues from the stored values, so that one fault
// is reported once.
func (w *traversal) check(l Link) {
	w.result.Entries++
	if l.Seq == w.seq {
		w.find(Inserted, l.Seq, l.EventID, "the link has the number of another link")
		return
	}
	if l.Seq != w.seq+1 {
		w.find(Removed, w.seq+1, "", fmt.Sprintf("links %d to %d are missing", w.seq+1, l.Seq-1))
	} else if !bytes.Equal(l.Previous, w.hash) {
		w.find(Reordered, l.Seq, l.EventID, "the link does not follow the previous link")
	}
	w.checkEvent(l)
	w.hash, w.seq = l.Hash, l.Seq
	if w.earlier != nil && l.Seq == w.earlier.Sequence {
		w.matched = true
		if Text(l.Hash) != w.earlier.Hash {
			w.find(Altered, l.Seq, l.EventID, "the chain differs from the head exported earlier: it was rewritten at or before this link")
		}
	}
}

// checkEvent requires that the link's event exists and has the digest that was sealed.
func (w *traversal) checkEvent(l Link) {
	if l.Event == nil {
		w.find(Removed, l.Seq, l.EventID, "the entry is gone")
		return
	}
	if !bytes.Equal(Hash(l.Previous, l.Seq, *l.Event), l.Hash) {
		w.find(Altered, l.Seq, l.EventID, "the entry's facts are not what was sealed")
	}
	digest, err := events.Digest(*l.Event)
	switch {
	case errors.Is(err, events.ErrErased):
		w.result.Erased++
	case err != nil:
		w.find(Altered, l.Seq, l.EventID, "the entry's data cannot be read and was not erased")
	case !bytes.Equal(digest, l.Event.Digest):
		w.find(Altered, l.Seq, l.EventID, "the entry's subject, request or data is not what was sealed")
	}
}

// end compares the last link with the stored head and with the head exported earlier.
func (w *traversal) end(head HeadRow) {
	w.result.Sequence, w.result.Hash = w.seq, Text(w.hash)
	if w.seq < head.Seq {
		w.find(Truncated, w.seq+1, "", fmt.Sprintf("links %d to %d are missing: the head is at %d", w.seq+1, head.Seq, head.Seq))
	} else if w.seq > head.Seq || !bytes.Equal(w.hash, head.Hash) {
		w.find(Altered, w.seq, "", "the head is not the last link of the chain")
	}
	if !w.matched {
		w.find(Truncated, w.seq, "", fmt.Sprintf("the chain ends before link %d of the head exported earlier", w.earlier.Sequence))
	}
}

// find adds a finding, up to the limit.
func (w *traversal) find(k Kind, seq int64, event, detail string) {
	w.result.Findings = append(w.result.Findings, Finding{Kind: k, Sequence: seq, Event: event, Detail: detail})
}
