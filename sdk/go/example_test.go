package countersign_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/events"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/protect"
	"github.com/countersign-dev/countersign/sdk/go/webhook"
)

// Ask whether a person may send a transfer, and act on the answer.
func ExampleClient_Authorize() {
	client, err := countersign.New(os.Getenv("COUNTERSIGN_URL"), os.Getenv("COUNTERSIGN_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	decision, err := client.Authorize(context.Background(), countersign.AuthorizeRequest{
		Subject: "user-4711", Action: "payments.transfer", Audience: "bank.example",
		Resource:    countersign.Resource{Type: "account", ID: "acc-20931"},
		Context:     map[string]any{"amount": 120.5, "currency": "EUR"},
		RequestedAt: time.Now().Unix(), Nonce: rand.Text(), IdempotencyKey: rand.Text(),
	})
	switch {
	case countersign.Unavailable(err):
		fmt.Println("nothing was decided: refuse, or go on where little is at stake")
	case err != nil:
		log.Fatal(err)
	case decision.Decision == countersign.DecisionAllow:
		fmt.Println("go on, and keep the proof:", decision.ProofID)
	case decision.Decision == countersign.DecisionChallenge:
		fmt.Println("let the person complete", decision.Challenge.ID)
	default:
		fmt.Println(decision.Decision, decision.ReasonCodes)
	}
}

// Put an action in front of a route. The page comes back with the proof of a completed step-up in Countersign-Proof.
func Example_gate() {
	base := os.Getenv("COUNTERSIGN_URL")
	client, err := countersign.New(base, os.Getenv("COUNTERSIGN_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	me, err := client.GetCredential(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	gate := &protect.Gate{Client: client, Action: "payments.transfer", Failure: protect.ForRisk(countersign.RiskClassHigh), RequireProof: true,
		Verifier: &proof.Verifier{Keys: proof.NewRemote(base, nil), Issuer: me.ProofIssuer, Environment: me.Environment, Audience: "bank.example"}}
	http.Handle("POST /transfers/{account}", gate.Handler(func(r *http.Request) (protect.Ask, error) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 4096))
		r.Body = io.NopCloser(bytes.NewReader(body)) // for the handler
		var in struct {
			Amount float64 `json:"amount"`
		}
		if err != nil || json.Unmarshal(body, &in) != nil {
			return protect.Ask{}, errors.New("The body must have an amount.")
		}
		return protect.Ask{
			Subject:      "user-4711", // the signed-in person
			ResourceType: "account", ResourceID: r.PathValue("account"), Context: map[string]any{"amount": in.Amount},
		}, nil
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(protect.FromContext(r.Context()).Proof)
	})))
}

// Take events, each once.
func Example_webhook() {
	verifier, err := webhook.New(os.Getenv("COUNTERSIGN_WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /countersign", func(w http.ResponseWriter, r *http.Request) {
		event, err := verifier.Read(r)
		if err != nil {
			http.Error(w, "refused", http.StatusBadRequest)
			return
		}
		fmt.Println(event.ID, event.Type) // remember the id: the same event may come again
		payload, err := event.Payload()
		if err != nil {
			http.Error(w, "not understood", http.StatusBadRequest)
			return
		}
		switch payload := payload.(type) {
		case *events.HoldApproved:
			fmt.Println("continue with", payload.ChildAuthorization)
		case *events.HoldRejected, *events.HoldExpired:
			fmt.Println("stop")
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
