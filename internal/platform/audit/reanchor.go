package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// AnchorType is the typ header of a signed anchor. It keeps a head from being accepted as an anchor.
const AnchorType = "audit-reanchor+jwt"

// Anchor names the last link of an environment before a re-anchoring, by which versions before schema 61 continued a log that was
// restored from a dump. Its signature is a compact JWS whose payload has these fields.
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

// anchored compares a re-anchoring with the chain and verifies its signature.
func (w *traversal) anchored(ctx context.Context, q *store.Q, e models.Event) error {
	if e.Data == nil {
		return nil // past its retention; its position and digest were verified
	}
	var d events.AuditReanchoredData
	_ = json.Unmarshal(e.Data, &d) // data in a different form was altered: what is missing is a finding
	a := Anchor{Environment: w.scope.Environment, Sequence: d.Sequence, Hash: d.Hash, At: d.At, Reason: d.Reason}
	out := Restore{At: apitime.Time(e.At), Actor: e.Actor, Reason: a.Reason, Sequence: d.Sequence, Adopted: d.Adopted}
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
		payload, err := w.signer.VerifyDocument(ctx, w.scope, AnchorType, d.Signature)
		wanted, _ := json.Marshal(a) // cannot fail: strings and one number
		if out.Signed = err == nil && bytes.Equal(payload, wanted); !out.Signed {
			w.find(Altered, a.Sequence, e.ID, fmt.Sprintf("the re-anchoring of %s is not signed by a key of the environment", out.At))
		}
	}
	w.result.Restored = append(w.result.Restored, out)
	return nil
}
