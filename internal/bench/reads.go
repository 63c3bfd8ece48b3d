package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/countersign-dev/countersign/internal/load"
)

// readRate is the rate at which each of the cheap reads is asked for, requests a second.
const readRate = 500

// reads measures verifying a proof, its status, and a session's assessment.
func reads(ctx context.Context, b *bench) error {
	if err := action(b.server, "payment.release", trusting); err != nil {
		return err
	}
	all, err := people(ctx, b.server, subjects, true)
	if err != nil {
		return err
	}
	ask := newAsking("payment.release", func(i int) string { return all[i%len(all)].subject })
	proofs := make([]struct {
		Proof string
		ID    string `json:"proof_id"`
	}, 512)
	if err := several(ctx, len(proofs), func(i int) error {
		return b.server.Want(http.StatusOK, "POST", "/api/v1/authorize", ask.next(), &proofs[i])
	}); err != nil {
		return err
	}
	bodies := make([][]byte, len(proofs))
	for i, p := range proofs {
		if bodies[i], err = json.Marshal(object{"proof": p.Proof, "audience": audience, "action": "payment.release"}); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		what string
		do   load.Work
	}{
		{"verify", func(_ context.Context, i int) error {
			var said struct{ Valid bool }
			err := b.server.Want(http.StatusOK, "POST", "/api/v1/verify", bodies[i%len(bodies)], &said)
			if err == nil && !said.Valid {
				err = fmt.Errorf("a good proof does not verify")
			}
			return err
		}},
		{"proof status", func(_ context.Context, i int) error {
			return b.server.Want(http.StatusOK, "GET", "/api/v1/proofs/"+proofs[i%len(proofs)].ID+"/status", nil, nil)
		}},
		{"assessment", func(_ context.Context, i int) error {
			return b.server.Want(http.StatusOK, "GET", "/api/v1/sessions/"+all[i%len(all)].session+"/assessment", nil, nil)
		}},
	} {
		load.Closed(ctx, clients, b.Slice/4, x.do)
		r := b.measure(ctx, "reads", x.what, fmt.Sprintf("%d/s open", readRate), func() load.Result {
			return load.Open(ctx, readRate, openClients, b.Lasts, x.do)
		})
		b.report.under(fmt.Sprintf("%s: p99 at %d/s", x.what, readRate), r.P99, 15, "ms")
	}
	return nil
}
