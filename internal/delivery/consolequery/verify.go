package consolequery

import (
	"cmp"
	"context"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Verified is an environment's audit log after its verification.
type Verified struct {
	audit.Result
	Head audit.Head // signed before the verification, which found it in the chain
}

// VerifyAudit signs the head of an environment's audit log, then verifies the log up to it and what is stored against it. progress is called
// with a step and the number of items done; it must not block.
func (r *Reader) VerifyAudit(ctx context.Context, scope pg.Scope, signer audit.Signer, progress func(step string, done int64)) (Verified, error) {
	head, err := audit.SignedHead(ctx, r.store.Q, scope, signer, r.clock)
	if err != nil {
		return Verified{}, err
	}
	result, err := audit.Verifier{Store: r.store, Progress: progress}.Verify(ctx, scope, &head)
	for _, f := range result.Findings {
		if f.Target != "" { // the page of the health says the same
			table, _, _ := strings.Cut(f.Field, ".")
			r.store.Q.NoteContradicted(scope, cmp.Or(table, "record"), f.Target)
		}
	}
	return Verified{result, head}, err
}
