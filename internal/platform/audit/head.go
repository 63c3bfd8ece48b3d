package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// HeadType is the typ header of a signed head. It keeps a proof from being accepted as a head.
const HeadType = "audit-head+jwt"

// Head is the newest link of a chain, signed with the environment's key. Signature is a compact JWS whose payload has the
// other four fields. A head stored outside the service shows later that the chain was not rewritten as a whole.
type Head struct {
	Environment string `json:"environment"`
	Sequence    int64  `json:"sequence"`
	Hash        string `json:"hash"`
	At          string `json:"at"`
	Signature   string `json:"signature,omitempty"`
}

// Signer signs with the active key of an environment and verifies signatures of any of its published keys.
type Signer interface {
	SignDocument(ctx context.Context, s pg.Scope, typ string, payload []byte) (compact string, err error)
	Checker
}

// Checker verifies signatures of the keys of an environment.
type Checker interface {
	VerifyDocument(ctx context.Context, s pg.Scope, typ, compact string) (payload []byte, err error)
}

// SignedHead reads and signs an environment's head. If nothing is sealed yet, the head has sequence 0 and the genesis hash.
func SignedHead(ctx context.Context, q *pg.Q, s pg.Scope, signer Signer, c clock.Clock) (Head, error) {
	row, err := HeadOf(ctx, q, s)
	if errors.Is(err, pg.ErrNotFound) {
		row = HeadRow{Hash: Genesis(s.Environment)}
	} else if err != nil {
		return Head{}, err
	}
	h := Head{Environment: s.Environment, Sequence: row.Seq, Hash: Text(row.Hash), At: apitime.Time(c.Now())}
	payload, err := json.Marshal(h)
	if err != nil {
		return Head{}, err
	}
	h.Signature, err = signer.SignDocument(ctx, s, HeadType, payload)
	return h, err
}

// CheckHead verifies the signature of a head exported earlier, and that the signed payload equals its fields.
func CheckHead(ctx context.Context, s pg.Scope, keys Checker, h Head) error {
	payload, err := keys.VerifyDocument(ctx, s, HeadType, h.Signature)
	if err != nil {
		return fmt.Errorf("the head's signature does not verify: %w", err)
	}
	var signed Head
	if err := json.Unmarshal(payload, &signed); err != nil {
		return fmt.Errorf("the head's signature covers something else: %w", err)
	}
	signed.Signature = h.Signature
	if signed != h {
		return errors.New("the head is not what was signed")
	}
	if h.Environment != s.Environment {
		return fmt.Errorf("the head is of environment %s", h.Environment)
	}
	return nil
}
