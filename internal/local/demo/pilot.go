package demo

import (
	"context"
	"crypto/rand"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// The criteria of the pilot's evaluation fit the number of its decisions in a demonstration.
const (
	pilotDecisions       = 20
	pilotOutcomes        = 0.5
	pilotMaxAbstentions  = 0.5
	decisionsPerScenario = 2
)

// pilotStricter is the version of the pilot's policy that is a draft.
const pilotStricter = 2

// pilot is the action in shadow mode.
type pilot struct{ id, key string }

// beginPilot creates an action in shadow mode, which is decided beside the payments as before its policy is enforced. It has
// an active policy version, a stricter draft to compare and simulate, and an evaluation.
func (s *show) beginPilot(ctx context.Context) error {
	action, err := s.api.CreateAction(ctx, countersign.ActionCreate{
		Key: "demo.change_payee_" + s.id, Name: "Change a payee", Consequence: "Later payments go to a different account.",
		AllowedAudiences: []string{audience}, ResourceType: "payee", RiskClass: "elevated",
	})
	if err != nil {
		return err
	}
	likely := map[string]countersign.ClaimStatus{operatorContinuity: countersign.ClaimStatusLikely}
	for _, r := range []countersign.PolicyRequirements{
		{Claims: likely, CoverageMin: "partial", FreshnessMaxMS: 600_000, InsufficientEvidence: "challenge"},
		{Claims: likely, CoverageMin: "sufficient", FreshnessMaxMS: 120_000, InsufficientEvidence: "hold", HoldOn: []string{"continuity_mismatch"}},
	} {
		if _, err := s.api.CreatePolicyVersion(ctx, action.ID, countersign.PolicyVersionCreate{Requirements: r}); err != nil {
			return err
		}
	}
	if _, err := s.api.ActivatePolicyVersion(ctx, action.ID, 1); err != nil {
		return err
	}
	if _, err := s.api.UpdateAction(ctx, action.ID, countersign.ActionUpdate{Mode: string(countersign.ModeShadow)}); err != nil {
		return err
	}
	decisions, coverage, abstentions := int64(pilotDecisions), pilotOutcomes, pilotMaxAbstentions
	_, err = s.api.CreateEvaluation(ctx, countersign.EvaluationCreate{
		Name: "Pilot: changing a payee", ActionKeys: []string{action.Key},
		SuccessCriteria: &countersign.EvaluationCriteria{MinShadowDecisions: decisions, MinOutcomeCoverage: &coverage, MaxAbstentionRate: &abstentions},
	})
	s.pilot = pilot{action.ID, action.Key}
	return err
}

// shadow decides the pilot's action in the session of a scenario and reports what is known about each decision.
func (s *show) shadow(ctx context.Context, scenario, subject, session string) error {
	for range decisionsPerScenario {
		decision, err := s.api.Authorize(ctx, countersign.AuthorizeRequest{
			Subject: subject, Action: s.pilot.key, Resource: countersign.Resource{Type: "payee", ID: "payee-" + rand.Text()},
			Audience: audience, RequestedAt: s.Now().Unix(), Nonce: rand.Text(), IdempotencyKey: rand.Text(), Session: session,
		})
		if err != nil {
			return err
		}
		outcome := known(scenario, decision.Decision)
		if outcome == "" {
			continue
		}
		if _, err := s.api.ReportOutcome(ctx, decision.ID, countersign.OutcomeReport{Outcome: outcome}); err != nil {
			return err
		}
	}
	return nil
}

// known is the outcome that the relying party learns later; empty if it learns none.
func known(scenario string, decision countersign.Decision) string {
	switch {
	case scenario == asThemselves && decision == countersign.DecisionAllow:
		return "executed"
	case scenario == asThemselves:
		return "false_challenge"
	case scenario == asAnother:
		return "confirmed_attack"
	case scenario == withReplay:
		return "not_executed"
	}
	return ""
}
