package events

// AuthorizationDecidedData describes a decision. RecordDigest is Record.Digest of the stored decision.
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
}

// HoldReminderData repeats when the hold was opened and when it is due.
type HoldReminderData struct {
	DueAt     string `json:"due_at" schema:"date-time"`
	RiskClass string `json:"risk_class,omitempty"`
	OpenedAt  string `json:"opened_at,omitempty" schema:"date-time"`
}

// HoldReviewedData counts the approvals of a hold that needs several.
type HoldReviewedData struct {
	Approvals         int `json:"approvals"`
	ApprovalsRequired int `json:"approvals_required"`
}

// HoldAssignedData names the reviewer who has taken a hold, and the one who had it before; empty for no one.
type HoldAssignedData struct {
	AssignedTo string `json:"assigned_to,omitempty"`
	Previous   string `json:"previous,omitempty"`
}

// HoldApprovedData names the reviewer who gave the last approval and the follow-up decision.
type HoldApprovedData struct {
	ResolvedBy         string `json:"resolved_by"`
	SelfReviewed       *bool  `json:"self_reviewed,omitempty"` // the requester is among those who approved
	Approvals          *int   `json:"approvals,omitempty"`
	ChildAuthorization string `json:"child_authorization,omitempty"`
	ChildDecision      string `json:"child_decision,omitempty" schema:"allow|challenge|hold|deny"`
}

// HoldRejectedData names the reviewer and the outcome recorded for the authorization.
type HoldRejectedData struct {
	ResolvedBy string `json:"resolved_by"`
	Outcome    string `json:"outcome,omitempty"`
}

// HoldExpiredData names a hold that was not resolved in time.
type HoldExpiredData struct {
	DueAt    string `json:"due_at,omitempty" schema:"date-time"`
	OpenedAt string `json:"opened_at,omitempty" schema:"date-time"`
	Reason   string `json:"reason,omitempty"`
}

// OutcomeReportedData has the outcome that the relying party reported.
type OutcomeReportedData struct {
	Outcome string `json:"outcome"`
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
	Evaluation string `json:"evaluation"`
}

// EvaluationClosedData has the result and the number of decisions evaluated.
type EvaluationClosedData struct {
	Evaluation string `json:"evaluation"`
	Result     string `json:"result" schema:"passed|failed"`
	Decisions  *int64 `json:"decisions,omitempty"`
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
