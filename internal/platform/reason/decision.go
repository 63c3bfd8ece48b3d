package reason

// Codes of decisions, emitted by internal/authz/policy. A policy may name any of them in deny_on and hold_on. The codes of a
// requirement that was met (RequirementsMet, HoldApproved) match nothing there; otherwise a better profile could lead to a
// stricter decision than a worse one.
const (
	RequirementsMet      Code = "requirements_met"
	ChallengeSatisfied   Code = "challenge_satisfied"
	HoldApproved         Code = "hold_approved"
	SubjectRevoked       Code = "subject_revoked"
	ActionArchived       Code = "action_archived"
	DenyOnMatched        Code = "deny_on_matched"
	HoldOnMatched        Code = "hold_on_matched"
	InsufficientEvidence Code = "insufficient_evidence"
	CoverageBelowMinimum Code = "coverage_below_minimum"
	FreshnessExceeded    Code = "freshness_exceeded"

	OperatorContinuityTooOld Code = "operator_continuity_too_old"
	HumanPresenceTooOld      Code = "human_presence_too_old"
	AutomationTooOld         Code = "automation_too_old"
	EvidenceReplayTooOld     Code = "evidence_replay_too_old"
	OperatorChangeTooOld     Code = "operator_change_too_old"

	OperatorContinuityNotMet Code = "operator_continuity_not_met"
	HumanPresenceNotMet      Code = "human_presence_not_met"
	AutomationNotMet         Code = "automation_not_met"
	EvidenceReplayNotMet     Code = "evidence_replay_not_met"
	OperatorChangeNotMet     Code = "operator_change_not_met"
	ClaimNotMet              Code = "claim_not_met"

	ExplicitApprovalRequired Code = "explicit_approval_required"
	SecurityEvent            Code = "security_event"
	NoChallengeMethod        Code = "no_challenge_method"
	MaxChallengesReached     Code = "max_challenges_reached"

	StandingApproval Code = "standing_approval"
	StandingAsked    Code = "standing_approval_requested"

	RuleMatched Code = "rule_matched"
	RuleFailed  Code = "rule_failed"
)

// Codes of an entry of a review that names a person: why its fallback team approves instead. They are not in reason_codes of a decision.
const (
	RequesterUnknown           Code = "requester_unknown"
	ApproverNotNamed           Code = "approver_not_named"
	ApproverUnknown            Code = "approver_unknown"
	ApproverIsRequester        Code = "approver_is_requester"
	ApproverReportsToRequester Code = "approver_reports_to_requester"
	ApproverWithoutAuthority   Code = "approver_without_authority"
)

var approverEntries = []Entry{
	{RequesterUnknown, KindApprover, "The policy wants the manager of the requester, and no member of staff is known by the requester's id or address.", "Mark the property that names the requester with x-countersign-requester, or use ids of staff as ids of subjects."},
	{ApproverNotNamed, KindApprover, "The request leaves out the property that names the approver.", "Send the property, or make it required in context_schema."},
	{ApproverUnknown, KindApprover, "No member of staff is known by the name that the request gives, several are, or the requester has no known manager.", "Send the id of a member of staff, or their confirmed e-mail address; record the manager."},
	{ApproverIsRequester, KindApprover, "The approver is the person who requests.", "None needed: the fallback team approves."},
	{ApproverReportsToRequester, KindApprover, "The approver reports to the person who requests, and self-review is barred.", "None needed: the fallback team approves."},
	{ApproverWithoutAuthority, KindApprover, "The approver is not a reviewer of the environment, or has lost that role since the step opened.", "Give the person the role reviewer, or correct who is named."},
}

var decisionEntries = []Entry{
	{RequirementsMet, KindDecision, "Every requirement of the policy version is met.", "None needed."},
	{ChallengeSatisfied, KindDecision, "A completed challenge compensated for the requirements that the policy lets a challenge compensate.", "None needed."},
	{HoldApproved, KindDecision, "A reviewer approved the held authorization.", "None needed."},
	{SubjectRevoked, KindDecision, "The subject is revoked; none of its actions is authorized.", "Use another subject, or end the revocation: POST /api/v1/subjects/{id}/reinstate requests it, and a second principal approves."},
	{ActionArchived, KindDecision, "The action is archived and no longer authorized.", "Authorize under an action that is not archived."},
	{DenyOnMatched, KindDecision, "A reason code that the policy lists in deny_on is present.", "The other reason codes and the explanation name the code; resolve it, or remove it from deny_on in a new policy version."},
	{HoldOnMatched, KindDecision, "A reason code that the policy lists in hold_on is present.", "Have the hold reviewed; the other reason codes and the explanation name the code that matched."},
	{InsufficientEvidence, KindDecision, "There is too little evidence to assess the subject, or a claim that the policy requires.", "Continue the session with the collector running, or complete the enrollment, then authorize again."},
	{CoverageBelowMinimum, KindDecision, "The evidence covers less than the policy's coverage_min.", "Collect more evidence in the session, or lower coverage_min in a new policy version."},
	{FreshnessExceeded, KindDecision, "The newest evidence of a claim that the policy requires is older than freshness_max_ms, or there is none; if it requires no claim, the newest evidence of any kind.", "Have the person type right before authorizing, or raise freshness_max_ms in a new policy version."},
	{OperatorContinuityTooOld, KindDecision, "The newest evidence that can carry operator_continuity, such as typing compared with the subject's template, is older than freshness_max_ms, or there is none.", "Have the person type before authorizing: scrolling, and a pointer without a template, do not count."},
	{HumanPresenceTooOld, KindDecision, "The newest frame that the tests of human_presence could use is older than freshness_max_ms, or there is none.", "Have the person type 30 keys or use the pointer before authorizing."},
	{AutomationTooOld, KindDecision, "The newest frame that the tests of automation could use is older than freshness_max_ms, or there is none.", "Have the person type 30 keys or use the pointer before authorizing."},
	{EvidenceReplayTooOld, KindDecision, "The newest frame that could be compared for evidence_replay is older than freshness_max_ms, or there is none.", "Have the person type or use the pointer before authorizing."},
	{OperatorChangeTooOld, KindDecision, "The newest evidence that can carry the experimental operator_change is older than freshness_max_ms, or there is none.", "Have the person type before authorizing."},
	{OperatorContinuityNotMet, KindDecision, "The operator_continuity claim is below the policy's minimum: the person may not be the enrolled one.", "Complete a challenge if the policy accepts one for this claim, or collect more evidence."},
	{HumanPresenceNotMet, KindDecision, "The human_presence claim is below the policy's minimum.", "Complete a challenge if the policy accepts one for this claim, or collect more evidence."},
	{AutomationNotMet, KindDecision, "The automation claim is not the status that the policy requires: the input looks scripted.", "Have the hold reviewed; a challenge does not compensate for it."},
	{EvidenceReplayNotMet, KindDecision, "The evidence_replay claim is not the status that the policy requires: the evidence looks recorded earlier.", "Start a new session and have the hold reviewed; a challenge does not compensate for it."},
	{OperatorChangeNotMet, KindDecision, "The experimental operator_change claim is not the status that the policy requires.", "Have the hold reviewed; a challenge does not compensate for it."},
	{ClaimNotMet, KindDecision, "The policy requires a claim that this version of the service cannot assess.", "Remove the claim in a new policy version."},
	{SecurityEvent, KindDecision, "The identity provider reported a security event about the subject, who must confirm each action for a time.", "Complete the challenge."},
	{ExplicitApprovalRequired, KindDecision, "The policy requires the subject to approve this action explicitly.", "Complete the challenge."},
	{NoChallengeMethod, KindDecision, "A challenge is required, but the subject can use none of the policy's challenge methods.", "Register a passkey for the subject, or have the hold reviewed."},
	{MaxChallengesReached, KindDecision, "A challenge is required, but this chain of authorizations has used all challenges that max_challenges allows.", "Have the hold reviewed, or start over with a new authorization."},
	{StandingApproval, KindDecision, "A standing approval that was given before satisfies what the policy asks of the subject or of reviewers.", "None needed: the decision names the standing approval."},
	{StandingAsked, KindDecision, "Reviewers are asked for a standing approval.", "Have the hold reviewed."},
	{RuleMatched, KindDecision, "A rule of the policy matched the request and added its requirements.", "None needed: the explanation names the rule and its reason. A rule can list this code in its hold_on or deny_on."},
	{RuleFailed, KindDecision, "A rule of the policy could not be evaluated for this request, so its requirements apply.", "The explanation names the rule and the error: correct its condition in a new policy version, or the values in the context."},
}
