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
	"strings"
	"testing"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/events"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/protect"
	"github.com/countersign-dev/countersign/sdk/go/webhook"
)

// Create a subject for a user, ask whether they may send a transfer, and act on the response.
func ExampleClient_Authorize() {
	ctx, user, account := context.Background(), "user-4711", "acc-20931"
	client, err := countersign.New(os.Getenv("COUNTERSIGN_URL"), os.Getenv("COUNTERSIGN_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	subject, err := client.CreateSubject(ctx, &countersign.SubjectCreate{ID: user}) // your own id, once; 409 subject_exists: there is one
	if err != nil {
		log.Fatal(err)
	}
	decision, err := client.Authorize(ctx, countersign.AuthorizeRequest{
		Subject: subject.ID, Action: "payments.transfer", Audience: "bank.example", Resource: countersign.Resource{Type: "account", ID: account},
		Context:     map[string]any{"amount": 120.5},
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

// Verify the proof of an allow, for exactly what is about to be done, and report what became of it.
func Example_proof() {
	var (
		ctx                  = context.Background()
		client               *countersign.Client
		verifier             *proof.Verifier // as in the example of a gate
		decision             *countersign.AuthorizeResponse
		user, account, nonce string
	)
	digest, err := proof.ContextDigest(map[string]any{"amount": 250, "currency": "EUR"})
	if err != nil {
		log.Fatal(err)
	}
	claims, err := verifier.Verify(ctx, decision.Proof, proof.Expect{
		Action: "payments.transfer", Subject: user, ResourceType: "account", ResourceID: account, Context: digest, Nonce: nonce,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("verified", claims.Action.Key)
	if _, err := client.ReportOutcome(ctx, decision.ID, countersign.OutcomeReport{Outcome: "executed"}); err != nil {
		log.Print(err)
	}
}

// Put an action in front of a route. The page comes back with the proof of a completed step-up in Countersign-Proof: the type confirmations
// of example_test.go has the routes by which it gets the proof.
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
			Subject:      "user-4711", // the signed-in person; CreateSubject was called for them once
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

// confirmations are the routes that a page uses after the 401 of a gate.
type confirmations struct {
	client *countersign.Client
	origin string                       // of the page, one of the environment's return origins
	userOf func(r *http.Request) string // the subject of the request's session, never one that the page names
}

// link makes the URL that the page goes to. It has kept its request, in sessionStorage.
func (c confirmations) link(w http.ResponseWriter, r *http.Request) {
	decision, err := c.own(r)
	if err != nil || decision.Challenge == nil {
		http.NotFound(w, r)
		return
	}
	link, err := c.client.CreateChallengeLink(r.Context(), decision.Challenge.ID,
		&countersign.ChallengeLinkRequest{ReturnURL: c.origin + "/?confirmation=" + decision.ID})
	if err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"url": link.URL})
}

// proof returns the proof of the follow-up decision, with which the page repeats its request.
func (c confirmations) proof(w http.ResponseWriter, r *http.Request) {
	decision, err := c.own(r)
	if err != nil || decision.ChildAuthorization == "" { // not confirmed, whatever the query of the return URL says
		http.NotFound(w, r)
		return
	}
	child, err := c.client.GetAuthorization(r.Context(), decision.ChildAuthorization)
	if err != nil || child.Proof == nil {
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"proof": child.Proof.Compact})
}

// own returns the decision that the page names if it is the user's.
func (c confirmations) own(r *http.Request) (*countersign.AuthorizationTrace, error) {
	decision, err := c.client.GetAuthorization(r.Context(), r.PathValue("id"))
	if err == nil && decision.Subject != c.userOf(r) {
		err = errors.New("the decision is about a different user")
	}
	return decision, err
}

// Every line of Go in the README is in this file, so that it compiles. The tests with a running service call the routes of confirmations.
func TestReadmeShowsTheseExamples(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{"": true}
	for line := range strings.SplitSeq(string(source), "\n") {
		lines[strings.TrimSpace(line)] = true
	}
	shown := 0
	for _, block := range strings.Split(string(readme), "```go\n")[1:] {
		code, _, _ := strings.Cut(block, "```")
		for line := range strings.SplitSeq(code, "\n") {
			shown++
			if !lines[strings.TrimSpace(line)] {
				t.Errorf("README.md has a line that example_test.go has not: %s", line)
			}
		}
	}
	if shown < 40 {
		t.Errorf("README.md shows %d lines of Go", shown)
	}
}
