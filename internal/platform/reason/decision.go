package reason

// Codes of decisions, emitted by internal/authz/policy. A policy may name any of them in deny_on and hold_on; the ones that
// say a requirement was met (RequirementsMet, HoldApproved) match nothing there, or a better profile could be decided
// more strictly than a worse one.
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
	NoChallengeMethod        Code = "no_challenge_method"
	MaxChallengesReached     Code = "max_challenges_reached"
)

var decisionEntries = []Entry{
	{RequirementsMet, KindDecision, "Every requirement of the policy version is met.", "Nothing to mend."},
	{ChallengeSatisfied, KindDecision, "A completed challenge made good what the policy lets a challenge compensate.", "Nothing to mend."},
	{HoldApproved, KindDecision, "A reviewer approved the held authorization.", "Nothing to mend."},
	{SubjectRevoked, KindDecision, "The subject is revoked; no action of theirs is authorized.", "Create the subject anew, or use another subject; a revocation is not lifted."},
	{ActionArchived, KindDecision, "The action is archived; nothing is authorized under it any more.", "Authorize under an action that is not archived."},
	{DenyOnMatched, KindDecision, "A reason code that the policy lists in deny_on is present.", "Look at the other reason codes and the explanation for which one; mend that, or take it out of deny_on in a new policy version."},
	{HoldOnMatched, KindDecision, "A reason code that the policy lists in hold_on is present.", "Have the hold reviewed; look at the other reason codes and the explanation for which one matched."},
	{InsufficientEvidence, KindDecision, "There is too little evidence to assess the subject, or a claim the policy asks for.", "Let the subject work on in the session with the collector running, or complete enrollment, then authorize again."},
	{CoverageBelowMinimum, KindDecision, "The evidence covers less than the policy's coverage_min.", "Collect more evidence in the session, or lower coverage_min in a new policy version."},
	{FreshnessExceeded, KindDecision, "The newest evidence of a claim that the policy asks for is older than its freshness_max_ms, or there is none; where it asks for no claim, the newest evidence of any kind.", "Have the person type right before authorizing, or raise freshness_max_ms in a new policy version."},
	{OperatorContinuityTooOld, KindDecision, "The newest evidence that can carry operator_continuity, such as typing held against the subject's template, is older than freshness_max_ms, or there is none.", "Have the person type before authorizing: scrolling, and a pointer without a template, do not count."},
	{HumanPresenceTooOld, KindDecision, "The newest frame that the tests of human_presence could read is older than freshness_max_ms, or there is none.", "Have the person type 30 keys or use the pointer before authorizing."},
	{AutomationTooOld, KindDecision, "The newest frame that the tests of automation could read is older than freshness_max_ms, or there is none.", "Have the person type 30 keys or use the pointer before authorizing."},
	{EvidenceReplayTooOld, KindDecision, "The newest frame that could be compared for evidence_replay is older than freshness_max_ms, or there is none.", "Have the person type or use the pointer before authorizing."},
	{OperatorChangeTooOld, KindDecision, "The newest evidence that can carry the experimental operator_change is older than freshness_max_ms, or there is none.", "Have the person type before authorizing."},
	{OperatorContinuityNotMet, KindDecision, "The operator_continuity claim is below the policy's minimum: the person may not be the enrolled one.", "Complete a challenge where the policy lets one compensate it, or collect more evidence."},
	{HumanPresenceNotMet, KindDecision, "The human_presence claim is below the policy's minimum.", "Complete a challenge where the policy lets one compensate it, or collect more evidence."},
	{AutomationNotMet, KindDecision, "The automation claim is not what the policy asks for: input looks scripted.", "Have the hold reviewed; no challenge makes this good."},
	{EvidenceReplayNotMet, KindDecision, "The evidence_replay claim is not what the policy asks for: evidence looks recorded earlier.", "Start a new session and have the hold reviewed; no challenge makes this good."},
	{OperatorChangeNotMet, KindDecision, "The experimental operator_change claim is not what the policy asks for.", "Have the hold reviewed; no challenge makes this good."},
	{ClaimNotMet, KindDecision, "A claim this version of the service cannot assess is asked for by the policy.", "Leave the claim out in a new policy version."},
	{ExplicitApprovalRequired, KindDecision, "The policy asks the subject to approve this very action.", "Complete the challenge."},
	{NoChallengeMethod, KindDecision, "A challenge is due, but the subject can use none of the policy's challenge methods.", "Register a passkey for the subject, or have the hold reviewed."},
	{MaxChallengesReached, KindDecision, "A challenge is due, but this chain of authorizations has used all max_challenges allows.", "Have the hold reviewed, or start over with a new authorization."},
}
