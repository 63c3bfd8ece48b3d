package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
)

// readRate is the rate of each read, in requests a second.
const readRate = 500

// read is one kind of read: the API request, and the service's own code for
// the same.
type read struct {
	what string
	api  loadgen.Work
	own  func(ctx context.Context, in *inside, i int) error
}

// reads measures verifying a proof, its status and a session's assessment,
// each compared with its SQL.
func reads(ctx context.Context, b *bench) error {
	if err := harness.NewAction(ctx, b.sdk, "payment.release", trusting); err != nil {
		return err
	}
	all, err := b.people(ctx, subjects, true)
	if err != nil {
		return err
	}
	proofs, err := b.proofs(ctx, all)
	if err != nil {
		return err
	}
	for _, x := range []read{b.verify(proofs), b.status(proofs), b.assessment(all)} {
		if err := b.read(ctx, x); err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
	}
	return nil
}

// read measures one kind of read in an open loop and compares it with the
// target.
func (b *bench) read(ctx context.Context, x read) error {
	plain, err := b.bare(ctx, subjects, x.own)
	if err != nil {
		return err
	}
	defer plain.pool.Close()
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("%s: its SQL is %s.", x.what, plain.shape()))
	loadgen.Closed(ctx, clients, b.Slice/4, x.api)
	load := openLoad(ctx, readRate)
	b.compare(ctx, "reads", load.how, load.side(x.what, x.api), load.side("its SQL, bare", plain.run))
	b.report.under(fmt.Sprintf("%s: p99 at %d/s", x.what, readRate), b.report.Rows[len(b.report.Rows)-2].P99, 15, "ms")
	return nil
}

// issued is a proof with its id.
type issued struct {
	Proof string
	ID    string `json:"proof_id"`
}

// proofs issues proofs to read. They are fewer than the requests, so each
// is read many times.
func (b *bench) proofs(ctx context.Context, all []person) ([]issued, error) {
	ask := newRequests("payment.release", func(i int) string { return all[i%len(all)].subject })
	out := make([]issued, 512)
	return out, parallel(ctx, len(out), func(i int) error {
		return b.server.DoOK("POST", "/api/v1/authorize", ask.next(), &out[i])
	})
}

// verify is POST /api/v1/verify without consuming the proof.
func (b *bench) verify(proofs []issued) read {
	return read{"verify", func(_ context.Context, i int) error {
		var said struct{ Valid bool }
		body := object{"proof": proofs[i%len(proofs)].Proof, "audience": harness.Audience, "action": "payment.release"}
		err := b.server.DoOK("POST", "/api/v1/verify", body, &said)
		if err == nil && !said.Valid {
			err = errors.New("a good proof does not verify")
		}
		return err
	}, func(ctx context.Context, in *inside, i int) error {
		_, err := in.proofs.Verify(ctx, in.principal, signing.Question{Proof: proofs[i].Proof, Audience: harness.Audience, Action: "payment.release"})
		return err
	}}
}

// status is GET /api/v1/proofs/{jti}/status.
func (b *bench) status(proofs []issued) read {
	return read{"proof status", func(_ context.Context, i int) error {
		return b.server.DoOK("GET", "/api/v1/proofs/"+proofs[i%len(proofs)].ID+"/status", nil, nil)
	}, func(ctx context.Context, in *inside, i int) error {
		_, err := in.proofs.Status(ctx, in.principal.Store(), proofs[i].ID)
		return err
	}}
}

// assessment is GET /api/v1/sessions/{id}/assessment.
func (b *bench) assessment(all []person) read {
	return read{"assessment", func(_ context.Context, i int) error {
		return b.server.DoOK("GET", "/api/v1/sessions/"+all[i%len(all)].session+"/assessment", nil, nil)
	}, func(ctx context.Context, in *inside, i int) error {
		_, err := in.sessions.Assess(ctx, in.principal.Store(), all[i].session)
		return err
	}}
}
