package policies

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// draftHead returns the parts that both forms of a draft share.
func draftHead(v *shell.Visit, a models.Action, from models.PolicyVersion) forms.Form {
	f := forms.Form{
		Operation: "createPolicyVersion", Section: "policies", Heading: "New policy version of " + a.Key, Submit: "Create the draft",
		Back: show.Item{Label: a.Key, URL: v.At("policies", a.ID)},
	}
	if from.Version > 0 {
		f.Intro = "Filled in from version " + strconv.Itoa(from.Version) + ". "
	}
	f.Intro += "A draft decides nothing: the next page shows what it changes and what it would have decided, and activates it."
	return f
}

// draftForm is the form of a policy version, with the values of from.
func draftForm(v *shell.Visit, a models.Action, from models.PolicyVersion) (forms.Form, error) {
	contract, err := action.Contract(from)
	if err != nil {
		return forms.Form{}, err
	}
	r := contract.Requirements.Resolve(policy.EnvironmentKind(v.Grant.Environment.Kind))
	f := draftHead(v, a, from)
	f.To = v.At("policies", a.ID, "draft")
	f.Other = show.Item{Label: "Write it as text", URL: v.At("policies", a.ID, "draft-text") + "?from=" + strconv.Itoa(from.Version)}
	f.Builder, f.Matches = v.At("policies", a.ID, "rule"), v.At("policies", a.ID, "matches")
	f.Fields = []forms.Field{{Name: "requirements.rules", Label: "Rules", Heading: "Rules for some requests", Kind: forms.Composed, Part: rulesPart("requirements.rules", r.Rules)}}
	for _, group := range []struct {
		heading string
		fields  []forms.Field
	}{{"Evidence that every request needs", claimFields(r)}, {"", evidenceFields(v, r)}, {"Denials, holds and reviews", holdFields(r)}} {
		group.fields[0].Heading = group.heading
		f.Fields = append(f.Fields, group.fields...)
	}
	f.Fields = append(f.Fields,
		forms.Field{Name: "context_schema", Heading: "Requests and proofs", Label: "Schema of the context", Kind: forms.JsonText, Rows: 8, Value: show.Indented(json.RawMessage(from.ContextSchema)),
			Hint: "JSON Schema 2020-12. Leave it empty to use the active version's."},
		forms.Field{Name: keepRead, Label: "Keep the values that rules read", Kind: forms.YesNo, Local: true,
			Hint: "They are stored sealed with each decision, so that later versions can be tried on it."},
		forms.Field{Name: "allowed_audiences", Label: "Audiences that may receive proofs", Kind: forms.Lines, Value: strings.Join(from.AllowedAudiences, "\n"), Hint: "One on each line. Leave it empty to use the active version's."},
		forms.Field{Name: "allowed_callers", Label: "Keys that may ask for decisions", Kind: forms.Lines, Value: strings.Join(from.AllowedCallers, "\n"), Sent: true, Hint: "Credential ids, one on each line; empty for every server key."},
		forms.Field{Name: "proof_ttl_seconds", Label: "How long a proof is valid", Kind: forms.Duration, Value: show.Duration(from.ProofTTLSeconds), Hint: "30 s to 15 min."},
		forms.Field{Name: "reason", Heading: "Why you make this version", Label: "Reason", Kind: forms.LongText},
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
	return show.Indented(raw)
}

// claimFields are the least statuses of the claims that an assurance profile makes.
func claimFields(r policy.Requirements) []forms.Field {
	ordinary := []forms.Option{{Value: "", Label: "not required"}, {Value: "uncertain", Label: "at least uncertain"}, {Value: "likely", Label: "at least likely"}, {Value: "confirmed", Label: "confirmed"}}
	absent := []forms.Option{{Value: "", Label: "not required"}, {Value: "not_detected", Label: "not detected"}}
	out := []forms.Field{}
	for _, c := range []struct {
		claim, label string
		options      []forms.Option
	}{
		{policy.OperatorContinuity, "The same person as before (operator_continuity)", ordinary},
		{policy.HumanPresence, "A human types (human_presence)", ordinary},
		{policy.Automation, "Automation (automation)", absent},
		{policy.EvidenceReplay, "Replayed evidence (evidence_replay)", absent},
		{policy.OperatorChange, "A different person takes over (operator_change, experimental)", absent},
	} {
		value := string(r.Claims[c.claim])
		if !slices.ContainsFunc(c.options, func(o forms.Option) bool { return o.Value == value }) {
			c.options = append(slices.Clone(c.options), forms.Option{Value: value, Label: value}) // a draft must not lose what its version has
		}
		out = append(out, forms.Field{Name: "requirements.claims." + c.claim, Label: c.label, Kind: forms.Choice, Value: value, Options: c.options})
	}
	return out
}

func evidenceFields(v *shell.Visit, r policy.Requirements) []forms.Field {
	methods := []string{string(policy.Passkey)}
	if v.Grant.Environment.Kind == models.Sandbox {
		methods = append(methods, string(policy.SandboxConfirm))
	}
	chosen := make([]string, len(r.ChallengeMethods))
	for i, m := range r.ChallengeMethods {
		chosen[i] = string(m)
	}
	compensates := forms.Options(policy.OperatorContinuity, policy.HumanPresence, policy.CompensatesCoverage, policy.CompensatesFreshness)
	return []forms.Field{
		{Name: "requirements.coverage_min", Label: "Minimum coverage", Kind: forms.Choice, Value: string(r.CoverageMin), Options: forms.Options("none", "sparse", "partial", "sufficient")},
		{Name: "requirements.freshness_max_ms", Label: "Maximum age of the evidence (milliseconds)", Kind: forms.Number, Value: strconv.Itoa(int(r.FreshnessMaxMS)), Hint: "1000 to 3600000."},
		{Name: "requirements.insufficient_evidence", Label: "If the evidence is insufficient", Kind: forms.Choice, Value: string(r.InsufficientEvidence), Options: forms.Options("challenge", "hold", "deny")},
		{Name: "requirements.challenge_methods", Label: "Ways to complete a challenge", Kind: forms.SomeOf, Chosen: chosen, Options: forms.Options(methods...), Sent: true},
		{Name: "requirements.challenge_compensates", Label: "Requirements that a completed challenge replaces", Kind: forms.SomeOf, Chosen: r.ChallengeCompensates, Options: compensates, Sent: true},
		{Name: "requirements.passkey_aaguids", Label: "Models of authenticators that may complete a challenge", Kind: forms.Lines, Value: strings.Join(r.PasskeyAAGUIDs, "\n"),
			Hint: "AAGUIDs, one on each line; empty for all."},
		{Name: "requirements.max_challenges", Label: "Challenges before a hold", Kind: forms.Number, Value: strconv.Itoa(r.MaxChallenges), Hint: "1 to 5."},
		{Name: "requirements.explicit_approval_required", Label: "The user must approve this very action with a passkey", Kind: forms.YesNo, Value: strconv.FormatBool(r.ExplicitApprovalRequired)},
	}
}

func holdFields(r policy.Requirements) []forms.Field {
	approvals := ""
	if r.ApprovalsRequired > 0 {
		approvals = strconv.Itoa(r.ApprovalsRequired)
	}
	compensates := []string{policy.OperatorContinuity, policy.HumanPresence, policy.CompensatesCoverage, policy.CompensatesFreshness, policy.CompensatesApproval}
	compensated := r.ApprovalCompensates
	if compensated == nil {
		compensated = compensates
	}
	self := []forms.Option{{Value: "", Label: "as set for the environment"}, {Value: "allowed", Label: "allowed"}, {Value: "barred", Label: "forbidden"}}
	hours := []forms.Option{{Value: "", Label: "all"}, {Value: string(policy.HoursWorking), Label: "working hours only"}}
	if r.Hours == policy.HoursAll {
		hours[0].Value = string(policy.HoursAll)
	}
	return []forms.Field{
		{Name: "requirements.deny_on", Label: "Reason codes that deny", Kind: forms.Lines, Value: strings.Join(r.DenyOn, "\n"), Hint: "One on each line, such as replay_exact."},
		{Name: "requirements.hold_on", Label: "Reason codes that hold", Kind: forms.Lines, Value: strings.Join(r.HoldOn, "\n"), Hint: "One on each line."},
		{Name: "requirements.approvals_required", Label: "Reviewers who must approve a hold", Kind: forms.Number, Value: approvals, Hint: "1 to 5; empty for 1."},
		{Name: "requirements.approval_compensates", Label: "Requirements that a reviewer's approval replaces", Kind: forms.SomeOf, Chosen: compensated, Options: forms.Options(compensates...), AllOmitted: true,
			Hint: "For the others the user must complete a challenge as well."},
		{Name: "requirements.self_review", Label: "Approving one's own request", Kind: forms.Choice, Value: string(r.SelfReview), Options: self},
		{Name: "requirements.repeat_approvers", Label: "A reviewer may approve in several steps", Kind: forms.YesNo, Value: strconv.FormatBool(r.RepeatApprovers)},
		{Name: "requirements.hours", Label: "Hours that the times of a hold count", Kind: forms.Choice, Value: string(r.Hours), Options: hours,
			Hint: "Working hours are set in the settings of the environment."},
		{Name: "requirements.review", Label: "Teams, approvers and steps", Kind: forms.JsonText, Rows: 6, Value: jsonOf(r.Review, len(r.Review) == 0),
			Hint: `Such as [{"group": "board", "approvals": 2}], or {"steps": [...]} for one after the other. Empty for any reviewers.`},
		{Name: "requirements.break_glass", Label: "Break-glass", Kind: forms.JsonText, Rows: 6, Value: jsonOf(r.BreakGlass, r.BreakGlass == nil),
			Hint: "Who may approve alone, and who reviews it afterwards. Empty: no one."},
		{Name: "requirements.standing", Label: "Standing approvals", Kind: forms.JsonText, Rows: 6, Value: jsonOf(r.Standing, r.Standing == nil),
			Hint: "The bounds within which one approval allows several requests. Empty: none."},
	}
}

// draftTextForm is a policy version as the JSON body of the API.
func draftTextForm(v *shell.Visit, a models.Action, from models.PolicyVersion) (forms.Form, error) {
	contract, err := action.Contract(from)
	if err != nil {
		return forms.Form{}, err
	}
	f := draftHead(v, a, from)
	f.To = v.At("policies", a.ID, "draft-text")
	f.Other = show.Item{Label: "Use the form", URL: v.At("policies", a.ID, "draft") + "?from=" + strconv.Itoa(from.Version)}
	f.Fields = []forms.Field{{
		Label: "Policy version", Kind: forms.JsonText, Rows: 32, Required: true, Hint: "The body of createPolicyVersion in the API reference.",
		Value: jsonOf(map[string]any{
			"requirements": contract.Requirements, "context_schema": json.RawMessage(from.ContextSchema),
			"allowed_audiences": from.AllowedAudiences, "allowed_callers": append([]string{}, from.AllowedCallers...), "proof_ttl_seconds": from.ProofTTLSeconds,
		}, false),
	}}
	return f, nil
}
