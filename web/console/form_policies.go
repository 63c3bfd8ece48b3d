package console

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/models"
)

// draftHead returns the parts that both forms of a draft share.
func draftHead(v *visit, a models.Action, from models.PolicyVersion) form {
	f := form{
		Operation: "createPolicyVersion", Section: "policies", Heading: "New policy version of " + a.Key, Submit: "Create the draft",
		Back: item{Label: a.Key, URL: v.at("policies", a.ID)},
	}
	if from.Version > 0 {
		f.Intro = "Filled in from version " + itoa(from.Version) + ". "
	}
	f.Intro += "A draft decides nothing. The next page shows its difference to the active version and what it would have decided; activate it there."
	return f
}

// draftForm is the form of a policy version, with the values of from.
func draftForm(v *visit, a models.Action, from models.PolicyVersion) (form, error) {
	contract, err := action.Contract(from)
	if err != nil {
		return form{}, err
	}
	r := contract.Requirements.Resolve(policy.EnvironmentKind(v.grant.Environment.Kind))
	f := draftHead(v, a, from)
	f.To = v.at("policies", a.ID, "draft")
	f.Other = item{Label: "Write it as text", URL: v.at("policies", a.ID, "draft-text") + "?from=" + itoa(from.Version)}
	f.Builder, f.Matches = v.at("policies", a.ID, "rule"), v.at("policies", a.ID, "matches")
	f.Fields = []field{{Name: "requirements.rules", Label: "Rules", Heading: "Rules for some requests", Kind: ruleList, Rules: ruleRows("requirements.rules", r.Rules)}}
	for _, group := range []struct {
		heading string
		fields  []field
	}{{"Evidence that every request needs", claimFields(r)}, {"", evidenceFields(v, r)}, {"Denials, holds and reviews", holdFields(r)}} {
		group.fields[0].Heading = group.heading
		f.Fields = append(f.Fields, group.fields...)
	}
	f.Fields = append(f.Fields,
		field{Name: "context_schema", Heading: "Requests and proofs", Label: "Schema of the context", Kind: jsonText, Rows: 10, Value: indented(json.RawMessage(from.ContextSchema)),
			Hint: "JSON Schema 2020-12. Leave it empty to use the active version's."},
		field{Name: keepRead, Label: "Keep the values that rules read", Kind: yesNo, Local: true,
			Hint: "They are stored sealed with each decision, so that later versions can be tried on it."},
		field{Name: "allowed_audiences", Label: "Audiences that may receive proofs", Kind: lines, Value: strings.Join(from.AllowedAudiences, "\n"), Hint: "One on each line. Leave it empty to use the active version's."},
		field{Name: "allowed_callers", Label: "Keys that may ask for decisions", Kind: lines, Value: strings.Join(from.AllowedCallers, "\n"), Sent: true, Hint: "Credential ids, one on each line; empty for every server key."},
		field{Name: "proof_ttl_seconds", Label: "How long a proof is valid", Kind: duration, Value: durationText(from.ProofTTLSeconds), Hint: "30 s to 15 min."},
		field{Name: "reason", Heading: "Why you make this version", Label: "Reason", Kind: longText, Hint: "For the people who approve it, and those who look back at it."},
	)
	return f, nil
}

// keepRead is the field that marks the values that rules read as kept.
const keepRead = "keep_read"

// jsonOf returns a value as indented JSON; empty if it is to be left out.
func jsonOf(value any, without bool) string {
	if without {
		return ""
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return indented(raw)
}

// claimFields are the least statuses of the claims that an assurance profile makes.
func claimFields(r policy.Requirements) []field {
	ordinary := []option{{"", "not required"}, {"uncertain", "at least uncertain"}, {"likely", "at least likely"}, {"confirmed", "confirmed"}}
	absent := []option{{"", "not required"}, {"not_detected", "not detected"}}
	out := []field{}
	for _, c := range []struct {
		claim, label string
		options      []option
	}{
		{policy.OperatorContinuity, "The same person as before (operator_continuity)", ordinary},
		{policy.HumanPresence, "A human types (human_presence)", ordinary},
		{policy.Automation, "Automation (automation)", absent},
		{policy.EvidenceReplay, "Replayed evidence (evidence_replay)", absent},
		{policy.OperatorChange, "A different person takes over (operator_change, experimental)", absent},
	} {
		value := string(r.Claims[c.claim])
		if !slices.ContainsFunc(c.options, func(o option) bool { return o.Value == value }) {
			c.options = append(slices.Clone(c.options), option{value, value}) // a draft must not lose what its version has
		}
		out = append(out, field{Name: "requirements.claims." + c.claim, Label: c.label, Kind: choice, Value: value, Options: c.options})
	}
	return out
}

func evidenceFields(v *visit, r policy.Requirements) []field {
	methods := []string{string(policy.Passkey)}
	if v.grant.Environment.Kind == models.Sandbox {
		methods = append(methods, string(policy.SandboxConfirm))
	}
	chosen := make([]string, len(r.ChallengeMethods))
	for i, m := range r.ChallengeMethods {
		chosen[i] = string(m)
	}
	compensates := options(policy.OperatorContinuity, policy.HumanPresence, policy.CompensatesCoverage, policy.CompensatesFreshness)
	return []field{
		{Name: "requirements.coverage_min", Label: "Minimum coverage", Kind: choice, Value: string(r.CoverageMin), Options: options("none", "sparse", "partial", "sufficient")},
		{Name: "requirements.freshness_max_ms", Label: "Maximum age of the evidence (milliseconds)", Kind: number, Value: strconv.Itoa(int(r.FreshnessMaxMS)), Hint: "1000 to 3600000."},
		{Name: "requirements.insufficient_evidence", Label: "If the evidence is insufficient", Kind: choice, Value: string(r.InsufficientEvidence), Options: options("challenge", "hold", "deny")},
		{Name: "requirements.challenge_methods", Label: "Ways to complete a challenge", Kind: someOf, Chosen: chosen, Options: options(methods...), Sent: true},
		{Name: "requirements.challenge_compensates", Label: "Requirements that a completed challenge replaces", Kind: someOf, Chosen: r.ChallengeCompensates, Options: compensates, Sent: true},
		{Name: "requirements.passkey_aaguids", Label: "Models of authenticators that may complete a challenge", Kind: lines, Value: strings.Join(r.PasskeyAAGUIDs, "\n"),
			Hint: "AAGUIDs, one on each line; empty for all."},
		{Name: "requirements.max_challenges", Label: "Challenges before a hold", Kind: number, Value: strconv.Itoa(r.MaxChallenges), Hint: "1 to 5."},
		{Name: "requirements.explicit_approval_required", Label: "The user must approve this very action with a passkey", Kind: yesNo, Value: strconv.FormatBool(r.ExplicitApprovalRequired)},
	}
}

func holdFields(r policy.Requirements) []field {
	approvals := ""
	if r.ApprovalsRequired > 0 {
		approvals = strconv.Itoa(r.ApprovalsRequired)
	}
	compensates := []string{policy.OperatorContinuity, policy.HumanPresence, policy.CompensatesCoverage, policy.CompensatesFreshness, policy.CompensatesApproval}
	compensated := r.ApprovalCompensates
	if compensated == nil {
		compensated = compensates
	}
	self := []option{{"", "as set for the environment"}, {"allowed", "allowed"}, {"barred", "forbidden"}}
	return []field{
		{Name: "requirements.deny_on", Label: "Reason codes that deny", Kind: lines, Value: strings.Join(r.DenyOn, "\n"), Hint: "One on each line, such as replay_exact."},
		{Name: "requirements.hold_on", Label: "Reason codes that hold", Kind: lines, Value: strings.Join(r.HoldOn, "\n"), Hint: "One on each line."},
		{Name: "requirements.approvals_required", Label: "Reviewers who must approve a hold", Kind: number, Value: approvals, Hint: "1 to 5; empty for 1."},
		{Name: "requirements.approval_compensates", Label: "Requirements that a reviewer's approval replaces", Kind: someOf, Chosen: compensated, Options: options(compensates...), AllOmitted: true,
			Hint: "For the others the user must complete a challenge as well."},
		{Name: "requirements.self_review", Label: "Approving one's own request", Kind: choice, Value: string(r.SelfReview), Options: self},
	}
}

// draftTextForm is a policy version as the JSON body of the API.
func draftTextForm(v *visit, a models.Action, from models.PolicyVersion) (form, error) {
	contract, err := action.Contract(from)
	if err != nil {
		return form{}, err
	}
	f := draftHead(v, a, from)
	f.To = v.at("policies", a.ID, "draft-text")
	f.Other = item{Label: "Use the form", URL: v.at("policies", a.ID, "draft") + "?from=" + itoa(from.Version)}
	f.Fields = []field{{
		Label: "Policy version", Kind: jsonText, Rows: 32, Required: true, Hint: "The body of createPolicyVersion in the API reference.",
		Value: jsonOf(map[string]any{
			"requirements": contract.Requirements, "context_schema": json.RawMessage(from.ContextSchema),
			"allowed_audiences": from.AllowedAudiences, "allowed_callers": append([]string{}, from.AllowedCallers...), "proof_ttl_seconds": from.ProofTTLSeconds,
		}, false),
	}}
	return f, nil
}
