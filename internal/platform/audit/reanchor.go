package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// AnchorType is the typ header of a signed anchor. It keeps a head from being accepted as an anchor.
const AnchorType = "audit-reanchor+jwt"

// Anchor names the last link of an environment before a re-anchoring. Its signature is a compact JWS whose payload has these
// fields.
type Anchor struct {
	Environment string `json:"environment"`
	Sequence    int64  `json:"sequence"`
	Hash        string `json:"hash"`
	At          string `json:"at"`
	Reason      string `json:"reason"`
}

// Restore is a re-anchoring found in a chain.
type Restore struct {
	At       string `json:"at"`
	Actor    string `json:"actor"`
	Reason   string `json:"reason"`
	Sequence int64  `json:"sequence"` // the last link before it
	// Entries written between the restore and the re-anchoring.
	Adopted int64 `json:"adopted"`
	// The signature was verified.
	Signed bool `json:"signed"`
}

// Errors of Reanchor.
var (
	ErrNotRestored = errors.New("audit: the log is not numbered ahead of this database server and nothing waits before a head: there is nothing to re-anchor")
	ErrNotIntact   = errors.New("audit: the chain is not intact, which re-anchoring would not mend")
	ErrMoved       = errors.New("audit: entries were sealed meanwhile; stop the service and run it again")
)

// restoredSince reports whether an environment's log must be re-anchored, and the number of entries that wait for it.
func restoredSince(ctx context.Context, q *store.Q, s store.Scope, head store.AuditHead) (restored bool, late int64, err error) {
	c, err := q.Audit().LogClock(ctx)
	if err != nil {
		return false, 0, err
	}
	ahead := head.TxID >= c.Next
	if !ahead && !c.Moved() {
		return false, 0, nil
	}
	late, err = q.Audit().LateEntries(ctx, s)
	return ahead || late > 0, late, err
}

// Reanchoring continues the log after the database was restored from a dump. A restore resets Postgres's transaction ids, which
// order the log: without re-anchoring, new entries would sort before old ones and would never be sealed.
type Reanchoring struct {
	Verifier Verifier // with its Signer
	Clock    clock.Clock
	Actor    string
	Reason   string
	// Re-anchor despite findings, which remain findings afterwards.
	Accept bool
}

// Run verifies every environment of the database, moves the order of new entries behind the restored ones, and appends to each
// environment a signed entry that names the last link before it. It returns the verification result of each environment.
func (r Reanchoring) Run(ctx context.Context) ([]Result, error) {
	st := r.Verifier.Store
	scopes, err := st.Environments().All(ctx)
	if err != nil {
		return nil, err
	}
	var results []Result
	needed := false
	for _, s := range scopes {
		result, err := r.Verifier.Verify(ctx, s, nil)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
		restored := slices.ContainsFunc(result.Findings, func(f Finding) bool { return f.Kind == Restored })
		needed = needed || restored
		if others := len(result.Findings); !r.Accept && (others > 1 || others == 1 && !restored) {
			return results, ErrNotIntact
		}
	}
	if !needed {
		return results, ErrNotRestored
	}
	anchors, err := r.anchors(ctx, scopes, results)
	if err != nil {
		return results, err
	}
	return results, st.Write(ctx, func(q *store.Q) error { return r.shift(ctx, q, scopes, anchors) })
}

// signedAnchor is an anchor with its signature.
type signedAnchor struct {
	Anchor
	signature string
}

// anchors signs the anchors before the transaction that locks the log: an environment's first signing key adds an entry itself.
func (r Reanchoring) anchors(ctx context.Context, scopes []store.Scope, results []Result) ([]signedAnchor, error) {
	out := make([]signedAnchor, len(scopes))
	at := apitime.Time(r.Clock.Now())
	for i, s := range scopes {
		out[i].Anchor = Anchor{Environment: s.Environment, Sequence: results[i].Sequence, Hash: results[i].Hash, At: at, Reason: r.Reason}
		payload, err := json.Marshal(out[i].Anchor)
		if err != nil {
			return nil, err
		}
		if out[i].signature, err = r.Verifier.Signer.SignDocument(ctx, s, AnchorType, payload); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// shift moves the log's order in one transaction, and fails with ErrMoved if a head changed since it was signed.
func (r Reanchoring) shift(ctx context.Context, q *store.Q, scopes []store.Scope, anchors []signedAnchor) error {
	if err := q.Audit().DisableTimeout(ctx); err != nil {
		return err
	}
	now := r.Clock.Now()
	shifted, err := q.Audit().Reanchor(ctx, now)
	if err != nil {
		return err
	}
	for i, s := range scopes {
		head, err := q.Audit().Head(ctx, s)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if head.Seq != anchors[i].Sequence {
			return ErrMoved
		}
		a := anchors[i]
		if err := events.Append(ctx, q, events.Entry{Scope: s, At: now, Actor: r.Actor, Data: events.AuditReanchoredData{
			Sequence: a.Sequence, Hash: a.Hash, At: a.At, Reason: a.Reason, Signature: a.signature,
			Adopted: shifted.Adopted[s.Environment], Shift: shifted.Shift,
		}}); err != nil {
			return err
		}
	}
	return q.Notify(ctx, store.ChannelEvents, store.Reanchored)
}

// anchored compares a re-anchoring with the chain and verifies its signature.
func (w *traversal) anchored(ctx context.Context, q *store.Q, e models.Event) error {
	f := factsOf(&e)
	if f == nil {
		return nil // past its retention; its position and digest were verified
	}
	a := Anchor{Environment: w.scope.Environment, Hash: f.text("hash"), At: f.text("at"), Reason: f.text("reason")}
	out := Restore{At: apitime.Time(e.At), Actor: e.Actor, Reason: a.Reason}
	sequence, _ := f["sequence"].(float64)
	adopted, _ := f["adopted"].(float64)
	a.Sequence, out.Sequence, out.Adopted = int64(sequence), int64(sequence), int64(adopted)
	hash, err := q.Audit().HashAt(ctx, w.scope, a.Sequence)
	if errors.Is(err, store.ErrNotFound) && a.Sequence == 0 {
		hash, err = Genesis(w.scope.Environment), nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if Text(hash) != a.Hash {
		w.find(Altered, a.Sequence, e.ID, "the chain differs from the link that a re-anchoring names: it was rewritten at or before it")
	}
	if w.signer != nil {
		payload, err := w.signer.VerifyDocument(ctx, w.scope, AnchorType, f.text("signature"))
		wanted, _ := json.Marshal(a) // cannot fail: strings and one number
		if out.Signed = err == nil && bytes.Equal(payload, wanted); !out.Signed {
			w.find(Altered, a.Sequence, e.ID, fmt.Sprintf("the re-anchoring of %s is not signed by a key of the environment", out.At))
		}
	}
	w.result.Restored = append(w.result.Restored, out)
	return nil
}
