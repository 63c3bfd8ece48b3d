package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Kind says what is wrong at one place of the chain.
type Kind string

// The kinds of finding.
const (
	Altered   Kind = "altered"   // an entry is not what was sealed
	Removed   Kind = "removed"   // a link or an entry is gone
	Inserted  Kind = "inserted"  // an entry stands before the head and was never sealed
	Reordered Kind = "reordered" // links do not follow each other
	Truncated Kind = "truncated" // the chain ends before its head, or before a head exported earlier
	Restored  Kind = "restored"  // the database was restored from a dump, and its log was not re-anchored
)

// Finding is one fault and where it is. Sequence is the number of the link, 0 if there is none. A fault of what is stored
// names it, the field, what the log says and what is stored.
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

// Result is what a walk of a chain found.
type Result struct {
	Environment string    `json:"environment"`
	Entries     int64     `json:"entries"` // links walked
	Erased      int64     `json:"erased"`  // entries whose personal part was erased; their place and digest hold
	Waiting     int64     `json:"waiting"` // entries not sealed yet
	Sequence    int64     `json:"sequence"`
	Hash        string    `json:"hash"`
	State       State     `json:"state"`    // what was compared with the log
	Restored    []Restore `json:"restored"` // re-anchorings after a restore, in order
	Findings    []Finding `json:"findings"`
}

// Intact reports whether nothing is wrong.
func (r Result) Intact() bool { return len(r.Findings) == 0 }

const (
	walkBatch   = 2000
	maxFindings = 100 // after so many the rest tells nothing new
)

// Verifier verifies environments. Progress, if set, hears how far it is; it must return at once.
type Verifier struct {
	Store    *store.Store
	Signer   Signer // checks the signatures of re-anchorings; nil leaves them unchecked
	Progress func(step string, done int64)
}

// Verify is Verifier.Verify without progress.
func Verify(ctx context.Context, st *store.Store, s store.Scope, earlier *Head) (Result, error) {
	return Verifier{Store: st}.Verify(ctx, s, earlier)
}

// Verify walks an environment's chain, then holds what is stored against its entries, both on one snapshot and a page at a
// time. A head exported earlier, if given, must still be in the chain: it is what shows that the whole of it was rewritten.
func (v Verifier) Verify(ctx context.Context, s store.Scope, earlier *Head) (Result, error) {
	progress := v.Progress
	if progress == nil {
		progress = func(string, int64) {}
	}
	w := walk{scope: s, earlier: earlier, progress: progress, signer: v.Signer,
		result: Result{Environment: s.Environment, Findings: []Finding{}, Restored: []Restore{}}}
	err := v.Store.Read(ctx, func(q *store.Q) error {
		if err := q.Audit().DisableTimeout(ctx); err != nil {
			return err
		}
		if err := w.run(ctx, q); err != nil {
			return err
		}
		r := reconciliation{q: q, scope: s, progress: progress}
		err := r.run(ctx)
		w.result.State, w.result.Findings = r.state, append(w.result.Findings, r.findings...)
		return err
	})
	return w.result, err
}

type walk struct {
	scope    store.Scope
	earlier  *Head
	result   Result
	hash     []byte // of the last link walked
	seq      int64
	position store.Position
	matched  bool // earlier was seen
	progress func(step string, done int64)
	signer   Signer
	anchors  []models.Event // entries of re-anchorings
}

func (w *walk) run(ctx context.Context, q *store.Q) error {
	w.hash = Genesis(w.scope.Environment)
	w.matched = w.earlier == nil || w.earlier.Sequence == 0
	head, err := q.Audit().Head(ctx, w.scope)
	if errors.Is(err, store.ErrNotFound) {
		head = store.AuditHead{EnvironmentID: w.scope.Environment, Hash: w.hash}
	} else if err != nil {
		return err
	}
	for len(w.result.Findings) < maxFindings {
		links, err := q.Audit().Chain(ctx, w.scope, w.seq+1, walkBatch)
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
	for _, e := range w.anchors {
		if err := w.anchored(ctx, q, e); err != nil {
			return err
		}
	}
	return w.gaps(ctx, q, head)
}

// gaps looks for entries before the head that are in no link. After a restore those that were written since are not
// slipped in: they wait for the log to be re-anchored.
func (w *walk) gaps(ctx context.Context, q *store.Q, head store.AuditHead) error {
	restored, late, err := restoredSince(ctx, q, w.scope, head)
	if err != nil {
		return err
	}
	unlinked, waiting, err := q.Audit().Gaps(ctx, w.scope, head, restored, maxFindings)
	if err != nil {
		return err
	}
	w.result.Waiting = waiting + late
	for _, id := range unlinked {
		w.find(Inserted, 0, id, "the entry stands in the log before the head and in no link")
	}
	if restored {
		w.find(Restored, head.Seq, "", fmt.Sprintf("this looks like a restore from a dump: the log is numbered ahead of this database server, and %d entries "+
			"written since wait. Run: countersign audit reanchor --reason \"...\"", late))
	}
	return nil
}

// check holds one link against the one before and against its event, then goes on from what is stored, so that one
// fault is told once.
func (w *walk) check(l store.AuditLink) {
	w.result.Entries++
	if l.Seq != w.seq+1 {
		w.find(Removed, w.seq+1, "", fmt.Sprintf("links %d to %d are missing", w.seq+1, l.Seq-1))
	} else if !bytes.Equal(l.Previous, w.hash) {
		w.find(Reordered, l.Seq, l.EventID, "the link does not follow the one before it")
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

func (w *walk) checkEvent(l store.AuditLink) {
	if l.Event == nil {
		w.find(Removed, l.Seq, l.EventID, "the entry is gone")
		return
	}
	if !bytes.Equal(Hash(l.Previous, l.Seq, *l.Event), l.Hash) {
		w.find(Altered, l.Seq, l.EventID, "the entry's facts are not what was sealed")
	}
	digest, err := events.Digest(*l.Event)
	switch {
	case errors.Is(err, events.ErrErased) && l.Event.ErasedAt != nil:
		w.result.Erased++
	case err != nil:
		w.find(Altered, l.Seq, l.EventID, "the entry's data cannot be read and was not erased")
	case !bytes.Equal(digest, l.Event.Digest):
		w.find(Altered, l.Seq, l.EventID, "the entry's subject, request or data is not what was sealed")
	}
	if l.Event.Type == string(events.AuditReanchored) {
		w.anchors = append(w.anchors, *l.Event)
	}
	at := store.PositionOf(*l.Event)
	if at.Before(w.position) {
		w.find(Reordered, l.Seq, l.EventID, "the entry stands elsewhere in the log than in the chain")
	}
	w.position = at
}

func (w *walk) end(head store.AuditHead) {
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

func (w *walk) find(k Kind, seq int64, event, detail string) {
	w.result.Findings = append(w.result.Findings, Finding{Kind: k, Sequence: seq, Event: event, Detail: detail})
}
