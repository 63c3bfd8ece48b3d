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
	HoldWithdrawn          Type = "hold.withdrawn"
	HoldStepApproved       Type = "hold.step_approved"
	HoldStepOpened         Type = "hold.step_opened"
	HoldGlassBroken        Type = "hold.glass_broken"
	AfterReviewGiven       Type = "after_review.given"
	AfterReviewOverdue     Type = "after_review.overdue"
	AfterReviewClosed      Type = "after_review.closed"
	StandingRequested      Type = "standing.requested"
	StandingBegun          Type = "standing.begun"
	StandingUsed           Type = "standing.used"
	StandingReturned       Type = "standing.returned"
	StandingEnded          Type = "standing.ended"
	StandingLinkCreated    Type = "standing.link_created"
	StandingLinkOpened     Type = "standing.link_opened"
	StandingLinkRefused    Type = "standing.link_refused"
	ProofRevoked           Type = "proof.revoked"
	AuthenticationDecided  Type = "authentication.decided"
	EvaluationClosed       Type = "evaluation.closed"
	ChallengeLinkCreated   Type = "challenge.link_created"
	ChallengeLinkOpened    Type = "challenge.link_opened"
	ChallengeLinkRefused   Type = "challenge.link_refused"
	ChallengeAttemptFailed Type = "challenge.attempt_failed"
	// One of several approvals.
	HoldReviewed      Type = "hold.reviewed"
	HoldAssigned      Type = "hold.assigned"
	OutcomeReported   Type = "outcome.reported"
	ProofConsumed     Type = "proof.consumed"
	EvaluationCreated Type = "evaluation.created"
	ProofRead         Type = "proof.read"
)

// AuthorizationDecidedData describes a decision. Here and below, RecordDigest is pg.RecordDigest of the rows that the entry made.
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
	For       string `json:"for,omitempty" schema:"client"`
}

// ChallengeLinkOpenedData says how the subject opened a link that was made for a client.
type ChallengeLinkOpenedData struct {
	Challenge string `json:"challenge"`
	Method    string `json:"method" schema:"passkey|sandbox_confirm"`
}

// ChallengeLinkRefusedData counts the refused attempts to open a link; Reason is the problem code of the last one.
type ChallengeLinkRefusedData struct {
	Challenge string `json:"challenge"`
	Failures  int    `json:"failures"`
	Reason    string `json:"reason"`
}

// HoldOpenedData describes a decision that waits for a reviewer.
type HoldOpenedData struct {
	RiskClass         string   `json:"risk_class" schema:"low|elevated|high|critical"`
	DueAt             string   `json:"due_at" schema:"date-time"`
	ApprovalsRequired *int     `json:"approvals_required,omitempty"`
	Step              string   `json:"step,omitempty"` // the first one, of a hold with steps
	StepDueAt         string   `json:"step_due_at,omitempty" schema:"date-time"`
	Approvers         []string `json:"approvers,omitzero"` // see HoldStepOpenedData
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
	Step              string `json:"step,omitempty"`
	RecordDigest      string `json:"record_digest,omitempty" schema:"digest"`
}

// HoldStepApprovedData names a step of a hold that has its approvals, and counts those of the whole hold.
type HoldStepApprovedData struct {
	Step              string `json:"step"`
	Approvals         int    `json:"approvals"`
	ApprovalsRequired int    `json:"approvals_required"`
}

// HoldStepOpenedData names the step of a hold that waits for its approvals from now on. The hold expires at DueAt, and the time of the step is over
// at StepDueAt.
type HoldStepOpenedData struct {
	Step      string `json:"step"`
	DueAt     string `json:"due_at" schema:"date-time"`
	StepDueAt string `json:"step_due_at" schema:"date-time"`
	RiskClass string `json:"risk_class,omitempty"`
	// Approvers are the people who approve entries that name one, or the team that does instead and why.
	Approvers []string `json:"approvers,omitzero"`
	// Escalations are the teams whose escalation counts working hours, each with the time that it comes to.
	Escalations []string `json:"escalations,omitzero"`
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
	Step        string `json:"step,omitempty"`
	DueAt       string `json:"due_at" schema:"date-time"`
	RiskClass   string `json:"risk_class,omitempty"`
}

// HoldApprovedData names the reviewer who gave the last approval and the follow-up decision.
type HoldApprovedData struct {
	ResolvedBy         string `json:"resolved_by"`
	SelfReviewed       *bool  `json:"self_reviewed,omitempty"` // the requester is among those who approved
	Approvals          *int   `json:"approvals,omitempty"`
	Step               string `json:"step,omitempty"`
	BreakGlass         *bool  `json:"break_glass,omitempty"`                   // the reviewer approved alone
	RecordDigest       string `json:"record_digest,omitempty" schema:"digest"` // of the review
	ChildAuthorization string `json:"child_authorization,omitempty"`
	ChildDecision      string `json:"child_decision,omitempty" schema:"allow|challenge|hold|deny"`
}

// HoldGlassBrokenData names who approved a hold alone, as a member of which team, and the steps whose approvers were skipped. The review that follows
// is due at DueAt.
type HoldGlassBrokenData struct {
	BrokenBy  string   `json:"broken_by"`
	Team      string   `json:"team"`
	Skipped   []string `json:"skipped,omitzero"`
	Approvals int      `json:"approvals"` // that the review needs
	DueAt     string   `json:"due_at" schema:"date-time"`
	RiskClass string   `json:"risk_class,omitempty"`
}

// AfterReviewGivenData is the verdict of one reviewer about a break-glass, and counts them.
type AfterReviewGivenData struct {
	Verdict   string `json:"verdict" schema:"justified|not_justified"`
	Given     int    `json:"given"`
	Approvals int    `json:"approvals"`
}

// AfterReviewOverdueData names whose break-glass was not reviewed in time. No one can break the glass of the policy until the review is closed.
type AfterReviewOverdueData struct {
	BrokenBy string `json:"broken_by"`
	DueAt    string `json:"due_at" schema:"date-time"`
}

// AfterReviewClosedData has the verdict of the reviewers about a break-glass.
type AfterReviewClosedData struct {
	BrokenBy string `json:"broken_by"`
	Verdict  string `json:"verdict" schema:"justified|not_justified"`
}

// StandingRequestedData describes a standing approval that was asked for. What it allows is in its record; its display is that of its challenge or hold.
type StandingRequestedData struct {
	Standing string `json:"standing_approval"`
	By       string `json:"by" schema:"passkey|review"`
	MaxUses  int    `json:"max_uses"`
	EndsAt   string `json:"ends_at" schema:"date-time"`
}

// StandingBegunData names a standing approval that allows requests from now on.
type StandingBegunData struct {
	Standing string `json:"standing_approval"`
	By       string `json:"by" schema:"passkey|review"`
	MaxUses  int    `json:"max_uses"`
	EndsAt   string `json:"ends_at" schema:"date-time"`
}

// StandingUsedData counts the uses of a standing approval, the one of the authorization included.
type StandingUsedData struct {
	Standing string `json:"standing_approval"`
	Uses     int    `json:"uses"`
	MaxUses  int    `json:"max_uses"`
}

// StandingReturnedData names the standing approval that a request used which was not executed.
type StandingReturnedData struct {
	Standing string `json:"standing_approval"`
}

// StandingEndedData says why a standing approval allows nothing any more, and how often it was used.
type StandingEndedData struct {
	Standing string `json:"standing_approval"`
	Reason   string `json:"reason"`
	Uses     int    `json:"uses"`
}

// StandingLinkCreatedData names a link to the page of a subject's standing approvals.
type StandingLinkCreatedData struct {
	Link string `json:"link"`
}

// StandingLinkOpenedData names a link that the subject opened with the passkey of the actor.
type StandingLinkOpenedData struct {
	Link string `json:"link"`
}

// StandingLinkRefusedData counts the refused attempts to open a link; Reason is the problem code of the last one.
type StandingLinkRefusedData struct {
	Link     string `json:"link"`
	Failures int    `json:"failures"`
	Reason   string `json:"reason"`
}

// HoldRejectedData names the reviewer and the outcome recorded for the authorization.
type HoldRejectedData struct {
	ResolvedBy   string `json:"resolved_by"`
	Outcome      string `json:"outcome,omitempty"`
	Step         string `json:"step,omitempty"`
	RecordDigest string `json:"record_digest,omitempty" schema:"digest"` // of the review
}

// HoldExpiredData names a hold that was not resolved in time.
type HoldExpiredData struct {
	DueAt    string `json:"due_at,omitempty" schema:"date-time"`
	OpenedAt string `json:"opened_at,omitempty" schema:"date-time"`
	Reason   string `json:"reason,omitempty"`
}

// HoldWithdrawnData names the credential with which the relying party withdrew the request.
type HoldWithdrawnData struct {
	ResolvedBy string `json:"resolved_by"`
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
func (ChallengeLinkOpenedData) EventType() Type    { return ChallengeLinkOpened }
func (ChallengeLinkRefusedData) EventType() Type   { return ChallengeLinkRefused }
func (HoldOpenedData) EventType() Type             { return HoldOpened }
func (HoldReminderData) EventType() Type           { return HoldReminder }
func (HoldEscalatedData) EventType() Type          { return HoldEscalated }
func (HoldReviewedData) EventType() Type           { return HoldReviewed }
func (HoldAssignedData) EventType() Type           { return HoldAssigned }
func (HoldApprovedData) EventType() Type           { return HoldApproved }
func (HoldRejectedData) EventType() Type           { return HoldRejected }
func (HoldExpiredData) EventType() Type            { return HoldExpired }
func (HoldWithdrawnData) EventType() Type          { return HoldWithdrawn }
func (HoldStepApprovedData) EventType() Type       { return HoldStepApproved }
func (HoldStepOpenedData) EventType() Type         { return HoldStepOpened }
func (HoldGlassBrokenData) EventType() Type        { return HoldGlassBroken }
func (AfterReviewGivenData) EventType() Type       { return AfterReviewGiven }
func (AfterReviewOverdueData) EventType() Type     { return AfterReviewOverdue }
func (AfterReviewClosedData) EventType() Type      { return AfterReviewClosed }
func (StandingRequestedData) EventType() Type      { return StandingRequested }
func (StandingBegunData) EventType() Type          { return StandingBegun }
func (StandingUsedData) EventType() Type           { return StandingUsed }
func (StandingReturnedData) EventType() Type       { return StandingReturned }
func (StandingEndedData) EventType() Type          { return StandingEnded }
func (StandingLinkCreatedData) EventType() Type    { return StandingLinkCreated }
func (StandingLinkOpenedData) EventType() Type     { return StandingLinkOpened }
func (StandingLinkRefusedData) EventType() Type    { return StandingLinkRefused }
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
	public(HoldStepApprovedData{}, "A step of a hold has its approvals. The hold is approved with its last step.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"step": "team", "approvals": 1, "approvals_required": 3}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldStepOpenedData{}, "A later step of a hold waits for its approvals from now on.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"step": "lead", "due_at": "2026-03-04T09:00:00.000Z", "step_due_at": "2026-03-01T13:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldApprovedData{}, "A reviewer approved; child_authorization is the decision that followed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "child_authorization": exampleChild,
			"child_decision": "allow"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldGlassBrokenData{}, "A member of the policy's team approved a hold alone (break-glass). Others review it afterwards.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"broken_by": "person:prs_01jqx3k5v8e2sbyk0c4m7t9wzd", "team": "incident_leads", "skipped": []any{"lead", "board"}, "approvals": 2,
			"due_at": "2026-03-02T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldRejectedData{}, "A reviewer rejected.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "outcome": "manually_rejected"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldExpiredData{}, "The hold was not reviewed in time and was not approved.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"due_at": "2026-03-04T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldWithdrawnData{}, "The relying party withdrew the request while it waited. Nothing was approved, and no outcome is recorded.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(AfterReviewOverdueData{}, "A break-glass was not reviewed in time. No one can break the glass of its policy until it is.",
		map[string]any{"action": "payment.release", "authorization": exampleAuthorization,
			"broken_by": "person:prs_01jqx3k5v8e2sbyk0c4m7t9wzd", "due_at": "2026-03-02T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(AfterReviewClosedData{}, "Others have found whether a break-glass was justified.",
		map[string]any{"action": "payment.release", "authorization": exampleAuthorization,
			"broken_by": "person:prs_01jqx3k5v8e2sbyk0c4m7t9wzd", "verdict": "justified"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(StandingRequestedData{}, "A standing approval waits for the subject or for reviewers.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"standing_approval": "sta_01jqx3k5v8e2sbyk0c4m7t9wzd", "by": "passkey", "max_uses": 40, "ends_at": "2026-04-01T09:00:00.000Z"}, maybeSubject, action, authorization, maybeDecision),
	public(StandingBegunData{}, "A standing approval was given: it allows requests from now on.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"standing_approval": "sta_01jqx3k5v8e2sbyk0c4m7t9wzd", "by": "passkey", "max_uses": 40, "ends_at": "2026-04-01T09:00:00.000Z"}, maybeSubject, action, authorization, maybeDecision),
	public(StandingUsedData{}, "A standing approval allowed a request.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"standing_approval": "sta_01jqx3k5v8e2sbyk0c4m7t9wzd", "uses": 3, "max_uses": 40}, maybeSubject, action, authorization, maybeDecision),
	public(StandingReturnedData{}, "A request that a standing approval had allowed was not executed: the use is given back.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"standing_approval": "sta_01jqx3k5v8e2sbyk0c4m7t9wzd"}, maybeSubject, action, authorization, maybeDecision),
	public(StandingEndedData{}, "A standing approval has ended: it was revoked, or what it rests on has ended.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"standing_approval": "sta_01jqx3k5v8e2sbyk0c4m7t9wzd", "reason": "revoked", "uses": 3}, maybeSubject, action, authorization, maybeDecision),
	audit("A link to the page of a subject's standing approvals was created.", StandingLinkCreatedData{}),
	audit("The subject opened the link to the page of their standing approvals.", StandingLinkOpenedData{}),
	audit("An attempt to open the link to a subject's standing approvals was refused.", StandingLinkRefusedData{}),
	audit("A link to the hosted challenge page was created.", ChallengeLinkCreatedData{}),
	audit("The subject opened a link that was made for a client.", ChallengeLinkOpenedData{}),
	audit("An attempt to open a link that was made for a client was refused.", ChallengeLinkRefusedData{}),
	audit("An assertion was refused.", ChallengeAttemptFailedData{}),
	audit("One of several required reviewers voted.", HoldReviewedData{}),
	audit("A reviewer said whether a break-glass was justified.", AfterReviewGivenData{}),
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
