package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/columns"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// The scenarios in which a person is authorized, as the table names them.
const (
	withoutEvidence = "no evidence yet"
	asThemselves    = "as themselves"
	likelyIsEnough  = "as themselves, where likely is enough"
	asAnother       = "as another person"
	withReplay      = "with a replayed frame"
)

// operatorContinuity is the claim that the person at the keyboard is the one who enrolled.
const operatorContinuity = "operator_continuity"

// row is one authorization of the table.
type row struct {
	person, scenario string
	decision         *countersign.AuthorizeResponse
}

// continuity is the status of the claim operator_continuity; empty if the profile does not have it.
func (r row) continuity() countersign.ClaimStatus {
	for _, c := range r.decision.Assurance.Claims {
		if c.Claim == operatorContinuity {
			return c.Status
		}
	}
	return ""
}

// authorize requests the release of a payment for the subject, or the change of a note where likely is enough, and appends the decision to
// the table.
func (s *show) authorize(ctx context.Context, p person, scenario, subject, session string) error {
	action := s.action
	if scenario == likelyIsEnough {
		action = s.lesser
	}
	decision, err := s.api.Authorize(ctx, countersign.AuthorizeRequest{
		Subject: subject, Action: action, Resource: countersign.Resource{Type: "payment", ID: "payment-" + rand.Text()},
		Audience: audience, RequestedAt: s.Now().Unix(), Nonce: rand.Text(), IdempotencyKey: rand.Text(), Session: session,
	})
	if err != nil {
		return err
	}
	s.rows = append(s.rows, row{person: p.name, scenario: scenario, decision: decision})
	return s.shadow(ctx, scenario, subject, session)
}

// table prints every decision with its reasons.
func (s *show) table() {
	w := columns.New(s.Out)
	_, _ = fmt.Fprintln(w, "\nPERSON\tSCENARIO\tDECISION\tOPERATOR CONTINUITY\tCOVERAGE\tREASONS")
	for _, r := range s.rows {
		d := r.decision
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.person, r.scenario, strings.ToUpper(string(d.Decision)),
			r.continuity(), d.Assurance.Coverage, strings.Join(d.ReasonCodes, ", "))
	}
	_ = w.Flush()
	s.printf("")
}

// ranks are the statuses of operator_continuity from worst to best.
var ranks = []countersign.ClaimStatus{
	countersign.ClaimStatusNotConfirmed, countersign.ClaimStatusInsufficientEvidence, countersign.ClaimStatusUncertain,
	countersign.ClaimStatusLikely, countersign.ClaimStatusConfirmed,
}

// maxConfused is how many of the people may be confused with another before the demonstration fails. Two people of a small
// group can type alike, which is reported; more of them are a fault of the service.
const maxConfused = 1

// verdict compares each person's own decision with the one on another person's frames. It returns ErrNotDistinguished if
// more than maxConfused people rank no better than the other person, or if as many others are allowed.
func (s *show) verdict() error {
	own, other := map[string]int{}, map[string]int{}
	allowed, confused := 0, []string(nil)
	for _, r := range s.rows {
		rank := slices.Index(ranks, r.continuity())
		switch r.scenario {
		case asThemselves:
			own[r.person] = rank
		case likelyIsEnough:
			if r.decision.Decision == countersign.DecisionAllow {
				allowed++
			}
		case asAnother:
			other[r.person] = rank
			if r.decision.Decision == countersign.DecisionAllow {
				confused = append(confused, r.person)
			}
		}
	}
	distinguished := 0
	for name, rank := range own {
		if rank > other[name] {
			distinguished++
		}
	}
	s.printf("distinguished: %d of %d people; %d allowed as themselves where likely is enough, %d allowed as another person",
		distinguished, len(own), allowed, len(confused))
	for _, name := range confused {
		s.printf("another person was allowed in the name of %s: two people can type alike. docs/accuracy.md has the rates; "+
			"a policy with explicit_approval_required asks for a passkey in every case", name)
	}
	if len(own)-distinguished > maxConfused || len(confused) > maxConfused {
		return ErrNotDistinguished
	}
	return nil
}
