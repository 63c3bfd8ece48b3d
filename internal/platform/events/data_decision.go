package events

// Types of the events of decisions, challenges, holds and proofs.
const (
	AuthorizationDecided   Type = "authorization.decided"
	ChallengeRequested     Type = "challenge.requested"
	ChallengeCompleted     Type = "challenge.completed"
	ChallengeCancelled     Type = "challenge.cancelled"
	ChallengeExpired       Type = "challenge.expired"
	ChallengeFailed        Type = "challenge.failed"
	HoldOpened             Type = "hold.opened"
	HoldReminder           Type = "hold.reminder"
	HoldEscalated          Type = "hold.escalated"
	HoldApproved           Type = "hold.approved"
	HoldRejected           Type = "hold.rejected"
	HoldExpired            Type = "hold.expired"
	ProofRevoked           Type = "proof.revoked"
	AuthenticationDecided  Type = "authentication.decided"
	EvaluationClosed       Type = "evaluation.closed"
	ChallengeLinkCreated   Type = "challenge.link_created"
	ChallengeAttemptFailed Type = "challenge.attempt_failed"
	// One of several approvals.
	HoldReviewed      Type = "hold.reviewed"
	HoldAssigned      Type = "hold.assigned"
	OutcomeReported   Type = "outcome.reported"
	ProofConsumed     Type = "proof.consumed"
	EvaluationCreated Type = "evaluation.created"
	ProofRead         Type = "proof.read"
)

// AuthorizationDecidedData describes a decision. Here and below, RecordDigest is pg.Made of the rows that the entry made.
type AuthorizationDecidedData struct {
	Mode                 string   `json:"mode" schema:"test|shadow|enforce"`
	PolicyVersion        int      `json:"policy_version"`
	ReasonCodes          []string `json:"reason_codes"`
	Coverage             string   `json:"coverage,omitempty" schema:"none|sparse|partial|sufficient"`
	InsufficientEvidence *bool    `json:"insufficient_evidence,omitempty"`
	ActionHash           string   `json:"action_hash,omitempty" schema:"digest"`
	TraceID              string   `json:"trace_id,omitempty"`
	Challenge            string   `json:"challenge,omitempty"`
	ProofID              string   `json:"proof_id,omitempty"`
	// The authorization this one follows up.
	Parent       string `json:"parent,omitempty"`
	LatencyMS    *int   `json:"latency_ms,omitempty"`
	RecordDigest string `json:"record_digest,omitempty" schema:"digest"`
}

// ChallengeRequestedData describes an opened step-up. DisplayDigest covers what the subject is shown.
type ChallengeRequestedData struct {
	Challenge     string   `json:"challenge"`
	Methods       []string `json:"methods"`
	ExpiresAt     string   `json:"expires_at" schema:"date-time"`
	DisplayDigest string   `json:"display_digest,omitempty" schema:"digest"`
	RecordDigest  string   `json:"record_digest,omitempty" schema:"digest"`
}

// ChallengeCompletedData names the method used and the follow-up decision.
type ChallengeCompletedData struct {
	Challenge          string `json:"challenge"`
	Method             string `json:"method" schema:"passkey|sandbox_confirm"`
	Strength           string `json:"strength,omitempty" schema:"phishing_resistant|sandbox"`
	ChildAuthorization string `json:"child_authorization,omitempty"`
	ChildDecision      string `json:"child_decision,omitempty" schema:"allow|challenge|hold|deny"`
}

// ChallengeCancelledData has a reason if the service cancelled the challenge and none if the relying party did.
type ChallengeCancelledData struct {
	Challenge string `json:"challenge"`
	Reason    string `json:"reason,omitempty"`
}

// ChallengeExpiredData names a step-up that was not completed in time.
type ChallengeExpiredData struct {
	Challenge string `json:"challenge"`
	ExpiresAt string `json:"expires_at,omitempty" schema:"date-time"`
}

// ChallengeFailedData counts the refused assertions; Reason is the problem code of the last one.
type ChallengeFailedData struct {
	Challenge string `json:"challenge"`
	Failures  *int   `json:"failures,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// ChallengeAttemptFailedData describes one refused assertion, with the number of refusals so far.
type ChallengeAttemptFailedData ChallengeFailedData

// ChallengeLinkCreatedData names the challenge that a link to the hosted page was issued for.
type ChallengeLinkCreatedData struct {
	Challenge string `json:"challenge"`
}

// HoldOpenedData describes a decision that waits for a reviewer.
type HoldOpenedData struct {
	RiskClass         string   `json:"risk_class" schema:"low|elevated|high|critical"`
	DueAt             string   `json:"due_at" schema:"date-time"`
	ApprovalsRequired *int     `json:"approvals_required,omitempty"`
	ReasonCodes       []string `json:"reason_codes,omitzero"`
	RecordDigest      string   `json:"record_digest,omitempty" schema:"digest"`
}

// HoldReminderData repeats when the hold was opened and when it is due.
type HoldReminderData struct {
	DueAt     string `json:"due_at" schema:"date-time"`
	RiskClass string `json:"risk_class,omitempty"`
	OpenedAt  string `json:"opened_at,omitempty" schema:"date-time"`
}

// HoldReviewedData counts the approvals of a hold that needs several.
type HoldReviewedData struct {
	Approvals         int    `json:"approvals"`
	ApprovalsRequired int    `json:"approvals_required"`
	RecordDigest      string `json:"record_digest,omitempty" schema:"digest"`
}

// HoldAssignedData names the reviewer who has taken a hold, and the one who had it before; empty for no one.
type HoldAssignedData struct {
	AssignedTo string `json:"assigned_to,omitempty"`
	Previous   string `json:"previous,omitempty"`
}

// HoldEscalatedData names the team that has not approved in time and the one whose members may approve as well from now on.
type HoldEscalatedData struct {
	Team        string `json:"team"`
	EscalatedTo string `json:"escalated_to"`
	DueAt       string `json:"due_at" schema:"date-time"`
	RiskClass   string `json:"risk_class,omitempty"`
}

// HoldApprovedData names the reviewer who gave the last approval and the follow-up decision.
type HoldApprovedData struct {
	ResolvedBy         string `json:"resolved_by"`
	SelfReviewed       *bool  `json:"self_reviewed,omitempty"` // the requester is among those who approved
	Approvals          *int   `json:"approvals,omitempty"`
	RecordDigest       string `json:"record_digest,omitempty" schema:"digest"` // of the review
	ChildAuthorization string `json:"child_authorization,omitempty"`
	ChildDecision      string `json:"child_decision,omitempty" schema:"allow|challenge|hold|deny"`
}

// HoldRejectedData names the reviewer and the outcome recorded for the authorization.
type HoldRejectedData struct {
	ResolvedBy   string `json:"resolved_by"`
	Outcome      string `json:"outcome,omitempty"`
	RecordDigest string `json:"record_digest,omitempty" schema:"digest"` // of the review
}

// HoldExpiredData names a hold that was not resolved in time.
type HoldExpiredData struct {
	DueAt    string `json:"due_at,omitempty" schema:"date-time"`
	OpenedAt string `json:"opened_at,omitempty" schema:"date-time"`
	Reason   string `json:"reason,omitempty"`
}

// OutcomeReportedData has the outcome that the relying party reported, and the digest of its note.
type OutcomeReportedData struct {
	Outcome    string  `json:"outcome"`
	NoteDigest *string `json:"note_digest,omitempty" schema:"digest"`
}

// ProofConsumedData names a proof that was verified and used.
type ProofConsumedData struct {
	ProofID string `json:"proof_id"`
}

// ProofReadData names an active proof that was given to a credential that had not requested the decision.
type ProofReadData struct {
	ProofID string `json:"proof_id"`
}

// ProofRevokedData names a proof that became void before it expired.
type ProofRevokedData struct {
	ProofID string `json:"proof_id"`
	Reason  string `json:"reason"`
}

// AuthenticationDecidedData is the verdict of POST /auth. Confidence is between 0 and 1.
type AuthenticationDecidedData struct {
	ReasonCodes []string `json:"reason_codes"`
	Confidence  *float64 `json:"confidence,omitempty"`
}

// EvaluationCreatedData names an evaluation of shadow decisions.
type EvaluationCreatedData struct {
	Evaluation   string `json:"evaluation"`
	RecordDigest string `json:"record_digest,omitempty" schema:"digest"`
}

// EvaluationClosedData has the result, the number of decisions evaluated and the digest of the report as it is stored.
type EvaluationClosedData struct {
	Evaluation   string `json:"evaluation"`
	Result       string `json:"result" schema:"passed|failed"`
	Decisions    *int64 `json:"decisions,omitempty"`
	ReportDigest string `json:"report_digest,omitempty" schema:"digest"`
}

func (AuthorizationDecidedData) EventType() Type   { return AuthorizationDecided }
func (ChallengeRequestedData) EventType() Type     { return ChallengeRequested }
func (ChallengeCompletedData) EventType() Type     { return ChallengeCompleted }
func (ChallengeCancelledData) EventType() Type     { return ChallengeCancelled }
func (ChallengeExpiredData) EventType() Type       { return ChallengeExpired }
func (ChallengeFailedData) EventType() Type        { return ChallengeFailed }
func (ChallengeAttemptFailedData) EventType() Type { return ChallengeAttemptFailed }
func (ChallengeLinkCreatedData) EventType() Type   { return ChallengeLinkCreated }
func (HoldOpenedData) EventType() Type             { return HoldOpened }
func (HoldReminderData) EventType() Type           { return HoldReminder }
func (HoldEscalatedData) EventType() Type          { return HoldEscalated }
func (HoldReviewedData) EventType() Type           { return HoldReviewed }
func (HoldAssignedData) EventType() Type           { return HoldAssigned }
func (HoldApprovedData) EventType() Type           { return HoldApproved }
func (HoldRejectedData) EventType() Type           { return HoldRejected }
func (HoldExpiredData) EventType() Type            { return HoldExpired }
func (OutcomeReportedData) EventType() Type        { return OutcomeReported }
func (ProofConsumedData) EventType() Type          { return ProofConsumed }
func (ProofRevokedData) EventType() Type           { return ProofRevoked }
func (ProofReadData) EventType() Type              { return ProofRead }
func (AuthenticationDecidedData) EventType() Type  { return AuthenticationDecided }
func (EvaluationCreatedData) EventType() Type      { return EvaluationCreated }
func (EvaluationClosedData) EventType() Type       { return EvaluationClosed }

var decisionEvents = []Definition{
	public(AuthorizationDecidedData{}, "A decision was made: at authorize, or again after a challenge or a review.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"decision": "challenge", "mode": "enforce", "policy_version": 3, "reason_codes": []any{"coverage_below_minimum"},
			"coverage": "sparse", "challenge": exampleChallenge}, subject, action, authorization, decision),
	public(ChallengeRequestedData{}, "The subject was asked for a step-up.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "methods": []any{"passkey"}, "expires_at": "2026-03-01T09:05:00.000Z"}, subject, action, authorization, maybeDecision),
	public(ChallengeCompletedData{}, "The subject completed the step-up; child_authorization is the decision that followed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "method": "passkey", "strength": "phishing_resistant",
			"child_authorization": exampleChild, "child_decision": "allow"}, subject, action, authorization, maybeDecision),
	public(ChallengeCancelledData{}, "The step-up was cancelled, by the relying party or because the subject may no longer act.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(ChallengeExpiredData{}, "The step-up was not completed in time.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(ChallengeFailedData{}, "Too many assertions were refused; the step-up can no longer be completed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "failures": 5}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldOpenedData{}, "A decision waits for a reviewer.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"risk_class": "high", "due_at": "2026-03-04T09:00:00.000Z", "approvals_required": 1,
			"reason_codes": []any{"evidence_insufficient"}}, subject, action, authorization, maybeDecision),
	public(HoldReminderData{}, "Half of the time for a review has passed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"due_at": "2026-03-04T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldEscalatedData{}, "A team has not approved in time; a second team may approve as well. Nothing is approved.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"team": "finance", "escalated_to": "finance_leads", "due_at": "2026-03-04T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldApprovedData{}, "A reviewer approved; child_authorization is the decision that followed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "child_authorization": exampleChild,
			"child_decision": "allow"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldRejectedData{}, "A reviewer rejected.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "outcome": "manually_rejected"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldExpiredData{}, "The hold was not reviewed in time and was not approved.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"due_at": "2026-03-04T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	audit("A link to the hosted challenge page was created.", ChallengeLinkCreatedData{}),
	audit("An assertion was refused.", ChallengeAttemptFailedData{}),
	audit("One of several required reviewers voted.", HoldReviewedData{}),
	audit("A reviewer took a hold or released it.", HoldAssignedData{}),
	audit("The relying party reported an outcome.", OutcomeReportedData{}),
	audit("A proof was consumed.", ProofConsumedData{}),
	audit("An evaluation was created.", EvaluationCreatedData{}),
	audit("A key that had not requested the decision received its active proof.", ProofReadData{}),
}

var outcomeEvents = []Definition{
	public(ProofRevokedData{}, "A proof was revoked before it expired.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"proof_id": "prf_01jqx3k5v8e2sbyk0c4m7t9wzd", "reason": "subject_revoked"}, maybeSubject, maybeAction, maybeAuthz, maybeDecision),
	public(AuthenticationDecidedData{}, "The earlier /auth operation decided.",
		map[string]any{"subject": "user-4711", "decision": "accept", "confidence": 0.93, "reason_codes": []any{"match:timing"}}, subject, verdict),
	public(EvaluationClosedData{}, "An evaluation ended.",
		map[string]any{"evaluation": "evl_01jqx3k5v8e2sbyk0c4m7t9wzd", "result": "passed", "decisions": 1200}),
}
