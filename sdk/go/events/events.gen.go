// Code generated from the contract by tools/gosdk; DO NOT EDIT.

package events

import "time"

// The types of events.
const (
	TypeAuthorizationDecided     = "authorization.decided"
	TypeChallengeRequested       = "challenge.requested"
	TypeChallengeCompleted       = "challenge.completed"
	TypeChallengeCancelled       = "challenge.cancelled"
	TypeChallengeExpired         = "challenge.expired"
	TypeChallengeFailed          = "challenge.failed"
	TypeHoldOpened               = "hold.opened"
	TypeHoldReminder             = "hold.reminder"
	TypeHoldEscalated            = "hold.escalated"
	TypeHoldStepApproved         = "hold.step_approved"
	TypeHoldStepOpened           = "hold.step_opened"
	TypeHoldApproved             = "hold.approved"
	TypeHoldGlassBroken          = "hold.glass_broken"
	TypeHoldRejected             = "hold.rejected"
	TypeHoldExpired              = "hold.expired"
	TypeHoldWithdrawn            = "hold.withdrawn"
	TypeAfterReviewOverdue       = "after_review.overdue"
	TypeAfterReviewClosed        = "after_review.closed"
	TypeStandingRequested        = "standing.requested"
	TypeStandingBegun            = "standing.begun"
	TypeStandingUsed             = "standing.used"
	TypeStandingReturned         = "standing.returned"
	TypeStandingEnded            = "standing.ended"
	TypeChangeRequested          = "change.requested"
	TypeChangeApproved           = "change.approved"
	TypeChangeRejected           = "change.rejected"
	TypeChangeWithdrawn          = "change.withdrawn"
	TypeChangeSuperseded         = "change.superseded"
	TypeChangeExpired            = "change.expired"
	TypeTrustStateChanged        = "trust.state_changed"
	TypeSessionAnomaly           = "session.anomaly"
	TypeEnrollmentCompleted      = "enrollment.completed"
	TypeEnrollmentFailed         = "enrollment.failed"
	TypeRecoveryStarted          = "recovery.started"
	TypeRecoveryReady            = "recovery.ready"
	TypeRecoveryCompleted        = "recovery.completed"
	TypeRecoveryExpired          = "recovery.expired"
	TypeSubjectCreated           = "subject.created"
	TypeSubjectRevoked           = "subject.revoked"
	TypeSubjectReinstated        = "subject.reinstated"
	TypeSubjectAdaptationChanged = "subject.adaptation_changed"
	TypeSubjectConsentChanged    = "subject.consent_changed"
	TypeSubjectExported          = "subject.exported"
	TypeSubjectErasureRequested  = "subject.erasure_requested"
	TypeSubjectErased            = "subject.erased"
	TypeTemplateRolledBack       = "template.rolled_back"
	TypePasskeyRegistered        = "passkey.registered"
	TypePasskeyRevoked           = "passkey.revoked"
	TypeProofRevoked             = "proof.revoked"
	TypeAuthenticationDecided    = "authentication.decided"
	TypeEvaluationClosed         = "evaluation.closed"
	TypeWebhookTest              = "webhook.test"
	TypeWebhookFailing           = "webhook.failing"
	TypeWebhookRecovered         = "webhook.recovered"
	TypeWebhookDisabled          = "webhook.disabled"
	TypeQuotaNearlyUsed          = "quota.nearly_used"
)

var types = map[string]func() Payload{
	TypeAuthorizationDecided:     func() Payload { return new(AuthorizationDecided) },
	TypeChallengeRequested:       func() Payload { return new(ChallengeRequested) },
	TypeChallengeCompleted:       func() Payload { return new(ChallengeCompleted) },
	TypeChallengeCancelled:       func() Payload { return new(ChallengeCancelled) },
	TypeChallengeExpired:         func() Payload { return new(ChallengeExpired) },
	TypeChallengeFailed:          func() Payload { return new(ChallengeFailed) },
	TypeHoldOpened:               func() Payload { return new(HoldOpened) },
	TypeHoldReminder:             func() Payload { return new(HoldReminder) },
	TypeHoldEscalated:            func() Payload { return new(HoldEscalated) },
	TypeHoldStepApproved:         func() Payload { return new(HoldStepApproved) },
	TypeHoldStepOpened:           func() Payload { return new(HoldStepOpened) },
	TypeHoldApproved:             func() Payload { return new(HoldApproved) },
	TypeHoldGlassBroken:          func() Payload { return new(HoldGlassBroken) },
	TypeHoldRejected:             func() Payload { return new(HoldRejected) },
	TypeHoldExpired:              func() Payload { return new(HoldExpired) },
	TypeHoldWithdrawn:            func() Payload { return new(HoldWithdrawn) },
	TypeAfterReviewOverdue:       func() Payload { return new(AfterReviewOverdue) },
	TypeAfterReviewClosed:        func() Payload { return new(AfterReviewClosed) },
	TypeStandingRequested:        func() Payload { return new(StandingRequested) },
	TypeStandingBegun:            func() Payload { return new(StandingBegun) },
	TypeStandingUsed:             func() Payload { return new(StandingUsed) },
	TypeStandingReturned:         func() Payload { return new(StandingReturned) },
	TypeStandingEnded:            func() Payload { return new(StandingEnded) },
	TypeChangeRequested:          func() Payload { return new(ChangeRequested) },
	TypeChangeApproved:           func() Payload { return new(ChangeApproved) },
	TypeChangeRejected:           func() Payload { return new(ChangeRejected) },
	TypeChangeWithdrawn:          func() Payload { return new(ChangeWithdrawn) },
	TypeChangeSuperseded:         func() Payload { return new(ChangeSuperseded) },
	TypeChangeExpired:            func() Payload { return new(ChangeExpired) },
	TypeTrustStateChanged:        func() Payload { return new(TrustStateChanged) },
	TypeSessionAnomaly:           func() Payload { return new(SessionAnomaly) },
	TypeEnrollmentCompleted:      func() Payload { return new(EnrollmentCompleted) },
	TypeEnrollmentFailed:         func() Payload { return new(EnrollmentFailed) },
	TypeRecoveryStarted:          func() Payload { return new(RecoveryStarted) },
	TypeRecoveryReady:            func() Payload { return new(RecoveryReady) },
	TypeRecoveryCompleted:        func() Payload { return new(RecoveryCompleted) },
	TypeRecoveryExpired:          func() Payload { return new(RecoveryExpired) },
	TypeSubjectCreated:           func() Payload { return new(SubjectCreated) },
	TypeSubjectRevoked:           func() Payload { return new(SubjectRevoked) },
	TypeSubjectReinstated:        func() Payload { return new(SubjectReinstated) },
	TypeSubjectAdaptationChanged: func() Payload { return new(SubjectAdaptationChanged) },
	TypeSubjectConsentChanged:    func() Payload { return new(SubjectConsentChanged) },
	TypeSubjectExported:          func() Payload { return new(SubjectExported) },
	TypeSubjectErasureRequested:  func() Payload { return new(SubjectErasureRequested) },
	TypeSubjectErased:            func() Payload { return new(SubjectErased) },
	TypeTemplateRolledBack:       func() Payload { return new(TemplateRolledBack) },
	TypePasskeyRegistered:        func() Payload { return new(PasskeyRegistered) },
	TypePasskeyRevoked:           func() Payload { return new(PasskeyRevoked) },
	TypeProofRevoked:             func() Payload { return new(ProofRevoked) },
	TypeAuthenticationDecided:    func() Payload { return new(AuthenticationDecided) },
	TypeEvaluationClosed:         func() Payload { return new(EvaluationClosed) },
	TypeWebhookTest:              func() Payload { return new(WebhookTest) },
	TypeWebhookFailing:           func() Payload { return new(WebhookFailing) },
	TypeWebhookRecovered:         func() Payload { return new(WebhookRecovered) },
	TypeWebhookDisabled:          func() Payload { return new(WebhookDisabled) },
	TypeQuotaNearlyUsed:          func() Payload { return new(QuotaNearlyUsed) },
}

// AuthorizationDecided is the payload of authorization.decided. A decision was made: at authorize, or again after a
// challenge or a review.
type AuthorizationDecided struct {
	Action               string   `json:"action"`
	ActionHash           string   `json:"action_hash,omitzero"`
	Authorization        string   `json:"authorization"`
	Challenge            string   `json:"challenge,omitzero"`
	Coverage             string   `json:"coverage,omitzero"` // none, sparse, partial, sufficient
	Decision             string   `json:"decision"`          // allow, challenge, hold, deny
	Environment          string   `json:"environment"`
	InsufficientEvidence bool     `json:"insufficient_evidence,omitzero"`
	LatencyMS            *int64   `json:"latency_ms,omitzero"`
	Mode                 string   `json:"mode"` // test, shadow, enforce
	Parent               string   `json:"parent,omitzero"`
	PolicyVersion        int64    `json:"policy_version"`
	ProofID              string   `json:"proof_id,omitzero"`
	ReasonCodes          []string `json:"reason_codes"`
	RecordDigest         string   `json:"record_digest,omitzero"`
	Subject              string   `json:"subject"`
	TraceID              string   `json:"trace_id,omitzero"`
}

// EventType is authorization.decided.
func (*AuthorizationDecided) EventType() string { return TypeAuthorizationDecided }

// ChallengeRequested is the payload of challenge.requested. The subject was asked for a step-up.
type ChallengeRequested struct {
	Action        string    `json:"action"`
	Authorization string    `json:"authorization"`
	Challenge     string    `json:"challenge"`
	Decision      string    `json:"decision,omitzero"` // allow, challenge, hold, deny
	DisplayDigest string    `json:"display_digest,omitzero"`
	Environment   string    `json:"environment"`
	ExpiresAt     time.Time `json:"expires_at"`
	Methods       []string  `json:"methods"`
	RecordDigest  string    `json:"record_digest,omitzero"`
	Subject       string    `json:"subject"`
}

// EventType is challenge.requested.
func (*ChallengeRequested) EventType() string { return TypeChallengeRequested }

// ChallengeCompleted is the payload of challenge.completed. The subject completed the step-up; child_authorization is
// the decision that followed.
type ChallengeCompleted struct {
	Action             string `json:"action"`
	Authorization      string `json:"authorization"`
	Challenge          string `json:"challenge"`
	ChildAuthorization string `json:"child_authorization,omitzero"`
	ChildDecision      string `json:"child_decision,omitzero"` // allow, challenge, hold, deny
	Decision           string `json:"decision,omitzero"`       // allow, challenge, hold, deny
	Environment        string `json:"environment"`
	Method             string `json:"method"`            // passkey, sandbox_confirm
	Strength           string `json:"strength,omitzero"` // phishing_resistant, sandbox
	Subject            string `json:"subject"`
}

// EventType is challenge.completed.
func (*ChallengeCompleted) EventType() string { return TypeChallengeCompleted }

// ChallengeCancelled is the payload of challenge.cancelled. The step-up was cancelled, by the relying party or because
// the subject may no longer act.
type ChallengeCancelled struct {
	Action        string `json:"action,omitzero"`
	Authorization string `json:"authorization"`
	Challenge     string `json:"challenge"`
	Decision      string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment   string `json:"environment"`
	Reason        string `json:"reason,omitzero"`
	Subject       string `json:"subject,omitzero"`
}

// EventType is challenge.cancelled.
func (*ChallengeCancelled) EventType() string { return TypeChallengeCancelled }

// ChallengeExpired is the payload of challenge.expired. The step-up was not completed in time.
type ChallengeExpired struct {
	Action        string     `json:"action,omitzero"`
	Authorization string     `json:"authorization"`
	Challenge     string     `json:"challenge"`
	Decision      string     `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment   string     `json:"environment"`
	ExpiresAt     *time.Time `json:"expires_at,omitzero"`
	Subject       string     `json:"subject,omitzero"`
}

// EventType is challenge.expired.
func (*ChallengeExpired) EventType() string { return TypeChallengeExpired }

// ChallengeFailed is the payload of challenge.failed. Too many assertions were refused; the step-up can no longer be
// completed.
type ChallengeFailed struct {
	Action        string `json:"action,omitzero"`
	Authorization string `json:"authorization"`
	Challenge     string `json:"challenge"`
	Decision      string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment   string `json:"environment"`
	Failures      *int64 `json:"failures,omitzero"`
	Reason        string `json:"reason,omitzero"`
	Subject       string `json:"subject,omitzero"`
}

// EventType is challenge.failed.
func (*ChallengeFailed) EventType() string { return TypeChallengeFailed }

// HoldOpened is the payload of hold.opened. A decision waits for a reviewer.
type HoldOpened struct {
	Action            string     `json:"action"`
	ApprovalsRequired *int64     `json:"approvals_required,omitzero"`
	Approvers         []string   `json:"approvers,omitzero"`
	Authorization     string     `json:"authorization"`
	Decision          string     `json:"decision,omitzero"` // allow, challenge, hold, deny
	DueAt             time.Time  `json:"due_at"`
	Environment       string     `json:"environment"`
	ReasonCodes       []string   `json:"reason_codes,omitzero"`
	RecordDigest      string     `json:"record_digest,omitzero"`
	RiskClass         string     `json:"risk_class"` // low, elevated, high, critical
	Step              string     `json:"step,omitzero"`
	StepDueAt         *time.Time `json:"step_due_at,omitzero"`
	Subject           string     `json:"subject"`
}

// EventType is hold.opened.
func (*HoldOpened) EventType() string { return TypeHoldOpened }

// HoldReminder is the payload of hold.reminder. Half of the time for a review has passed.
type HoldReminder struct {
	Action        string     `json:"action,omitzero"`
	Authorization string     `json:"authorization"`
	Decision      string     `json:"decision,omitzero"` // allow, challenge, hold, deny
	DueAt         time.Time  `json:"due_at"`
	Environment   string     `json:"environment"`
	OpenedAt      *time.Time `json:"opened_at,omitzero"`
	RiskClass     string     `json:"risk_class,omitzero"`
	Subject       string     `json:"subject,omitzero"`
}

// EventType is hold.reminder.
func (*HoldReminder) EventType() string { return TypeHoldReminder }

// HoldEscalated is the payload of hold.escalated. A team has not approved in time; a second team may approve as well.
// Nothing is approved.
type HoldEscalated struct {
	Action        string    `json:"action,omitzero"`
	Authorization string    `json:"authorization"`
	Decision      string    `json:"decision,omitzero"` // allow, challenge, hold, deny
	DueAt         time.Time `json:"due_at"`
	Environment   string    `json:"environment"`
	EscalatedTo   string    `json:"escalated_to"`
	RiskClass     string    `json:"risk_class,omitzero"`
	Step          string    `json:"step,omitzero"`
	Subject       string    `json:"subject,omitzero"`
	Team          string    `json:"team"`
}

// EventType is hold.escalated.
func (*HoldEscalated) EventType() string { return TypeHoldEscalated }

// HoldStepApproved is the payload of hold.step_approved. A step of a hold has its approvals. The hold is approved with
// its last step.
type HoldStepApproved struct {
	Action            string `json:"action,omitzero"`
	Approvals         int64  `json:"approvals"`
	ApprovalsRequired int64  `json:"approvals_required"`
	Authorization     string `json:"authorization"`
	Decision          string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment       string `json:"environment"`
	Step              string `json:"step"`
	Subject           string `json:"subject,omitzero"`
}

// EventType is hold.step_approved.
func (*HoldStepApproved) EventType() string { return TypeHoldStepApproved }

// HoldStepOpened is the payload of hold.step_opened. A later step of a hold waits for its approvals from now on.
type HoldStepOpened struct {
	Action        string    `json:"action,omitzero"`
	Approvers     []string  `json:"approvers,omitzero"`
	Authorization string    `json:"authorization"`
	Decision      string    `json:"decision,omitzero"` // allow, challenge, hold, deny
	DueAt         time.Time `json:"due_at"`
	Environment   string    `json:"environment"`
	Escalations   []string  `json:"escalations,omitzero"`
	RiskClass     string    `json:"risk_class,omitzero"`
	Step          string    `json:"step"`
	StepDueAt     time.Time `json:"step_due_at"`
	Subject       string    `json:"subject,omitzero"`
}

// EventType is hold.step_opened.
func (*HoldStepOpened) EventType() string { return TypeHoldStepOpened }

// HoldApproved is the payload of hold.approved. A reviewer approved; child_authorization is the decision that
// followed.
type HoldApproved struct {
	Action             string `json:"action,omitzero"`
	Approvals          *int64 `json:"approvals,omitzero"`
	Authorization      string `json:"authorization"`
	BreakGlass         bool   `json:"break_glass,omitzero"`
	ChildAuthorization string `json:"child_authorization,omitzero"`
	ChildDecision      string `json:"child_decision,omitzero"` // allow, challenge, hold, deny
	Decision           string `json:"decision,omitzero"`       // allow, challenge, hold, deny
	Environment        string `json:"environment"`
	RecordDigest       string `json:"record_digest,omitzero"`
	ResolvedBy         string `json:"resolved_by"`
	SelfReviewed       bool   `json:"self_reviewed,omitzero"`
	Step               string `json:"step,omitzero"`
	Subject            string `json:"subject,omitzero"`
}

// EventType is hold.approved.
func (*HoldApproved) EventType() string { return TypeHoldApproved }

// HoldGlassBroken is the payload of hold.glass_broken. A member of the policy's team approved a hold alone
// (break-glass). Others review it afterwards.
type HoldGlassBroken struct {
	Action        string    `json:"action,omitzero"`
	Approvals     int64     `json:"approvals"`
	Authorization string    `json:"authorization"`
	BrokenBy      string    `json:"broken_by"`
	Decision      string    `json:"decision,omitzero"` // allow, challenge, hold, deny
	DueAt         time.Time `json:"due_at"`
	Environment   string    `json:"environment"`
	RiskClass     string    `json:"risk_class,omitzero"`
	Skipped       []string  `json:"skipped,omitzero"`
	Subject       string    `json:"subject,omitzero"`
	Team          string    `json:"team"`
}

// EventType is hold.glass_broken.
func (*HoldGlassBroken) EventType() string { return TypeHoldGlassBroken }

// HoldRejected is the payload of hold.rejected. A reviewer rejected.
type HoldRejected struct {
	Action        string `json:"action,omitzero"`
	Authorization string `json:"authorization"`
	Decision      string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment   string `json:"environment"`
	Outcome       string `json:"outcome,omitzero"`
	RecordDigest  string `json:"record_digest,omitzero"`
	ResolvedBy    string `json:"resolved_by"`
	Step          string `json:"step,omitzero"`
	Subject       string `json:"subject,omitzero"`
}

// EventType is hold.rejected.
func (*HoldRejected) EventType() string { return TypeHoldRejected }

// HoldExpired is the payload of hold.expired. The hold was not reviewed in time and was not approved.
type HoldExpired struct {
	Action        string     `json:"action,omitzero"`
	Authorization string     `json:"authorization"`
	Decision      string     `json:"decision,omitzero"` // allow, challenge, hold, deny
	DueAt         *time.Time `json:"due_at,omitzero"`
	Environment   string     `json:"environment"`
	OpenedAt      *time.Time `json:"opened_at,omitzero"`
	Reason        string     `json:"reason,omitzero"`
	Subject       string     `json:"subject,omitzero"`
}

// EventType is hold.expired.
func (*HoldExpired) EventType() string { return TypeHoldExpired }

// HoldWithdrawn is the payload of hold.withdrawn. The relying party withdrew the request while it waited. Nothing was
// approved, and no outcome is recorded.
type HoldWithdrawn struct {
	Action        string `json:"action,omitzero"`
	Authorization string `json:"authorization"`
	Decision      string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment   string `json:"environment"`
	ResolvedBy    string `json:"resolved_by"`
	Subject       string `json:"subject,omitzero"`
}

// EventType is hold.withdrawn.
func (*HoldWithdrawn) EventType() string { return TypeHoldWithdrawn }

// AfterReviewOverdue is the payload of after_review.overdue. A break-glass was not reviewed in time. No one can break
// the glass of its policy until it is.
type AfterReviewOverdue struct {
	Action        string    `json:"action,omitzero"`
	Authorization string    `json:"authorization"`
	BrokenBy      string    `json:"broken_by"`
	Decision      string    `json:"decision,omitzero"` // allow, challenge, hold, deny
	DueAt         time.Time `json:"due_at"`
	Environment   string    `json:"environment"`
	Subject       string    `json:"subject,omitzero"`
}

// EventType is after_review.overdue.
func (*AfterReviewOverdue) EventType() string { return TypeAfterReviewOverdue }

// AfterReviewClosed is the payload of after_review.closed. Others have found whether a break-glass was justified.
type AfterReviewClosed struct {
	Action        string `json:"action,omitzero"`
	Authorization string `json:"authorization"`
	BrokenBy      string `json:"broken_by"`
	Decision      string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment   string `json:"environment"`
	Subject       string `json:"subject,omitzero"`
	Verdict       string `json:"verdict"` // justified, not_justified
}

// EventType is after_review.closed.
func (*AfterReviewClosed) EventType() string { return TypeAfterReviewClosed }

// StandingRequested is the payload of standing.requested. A standing approval waits for the subject or for reviewers.
type StandingRequested struct {
	Action           string    `json:"action"`
	Authorization    string    `json:"authorization"`
	By               string    `json:"by"`                // passkey, review
	Decision         string    `json:"decision,omitzero"` // allow, challenge, hold, deny
	EndsAt           time.Time `json:"ends_at"`
	Environment      string    `json:"environment"`
	MaxUses          int64     `json:"max_uses"`
	StandingApproval string    `json:"standing_approval"`
	Subject          string    `json:"subject,omitzero"`
}

// EventType is standing.requested.
func (*StandingRequested) EventType() string { return TypeStandingRequested }

// StandingBegun is the payload of standing.begun. A standing approval was given: it allows requests from now on.
type StandingBegun struct {
	Action           string    `json:"action"`
	Authorization    string    `json:"authorization"`
	By               string    `json:"by"`                // passkey, review
	Decision         string    `json:"decision,omitzero"` // allow, challenge, hold, deny
	EndsAt           time.Time `json:"ends_at"`
	Environment      string    `json:"environment"`
	MaxUses          int64     `json:"max_uses"`
	StandingApproval string    `json:"standing_approval"`
	Subject          string    `json:"subject,omitzero"`
}

// EventType is standing.begun.
func (*StandingBegun) EventType() string { return TypeStandingBegun }

// StandingUsed is the payload of standing.used. A standing approval allowed a request.
type StandingUsed struct {
	Action           string `json:"action"`
	Authorization    string `json:"authorization"`
	Decision         string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment      string `json:"environment"`
	MaxUses          int64  `json:"max_uses"`
	StandingApproval string `json:"standing_approval"`
	Subject          string `json:"subject,omitzero"`
	Uses             int64  `json:"uses"`
}

// EventType is standing.used.
func (*StandingUsed) EventType() string { return TypeStandingUsed }

// StandingReturned is the payload of standing.returned. A request that a standing approval had allowed was not
// executed: the use is given back.
type StandingReturned struct {
	Action           string `json:"action"`
	Authorization    string `json:"authorization"`
	Decision         string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment      string `json:"environment"`
	StandingApproval string `json:"standing_approval"`
	Subject          string `json:"subject,omitzero"`
}

// EventType is standing.returned.
func (*StandingReturned) EventType() string { return TypeStandingReturned }

// StandingEnded is the payload of standing.ended. A standing approval has ended: it was revoked, or what it rests on
// has ended.
type StandingEnded struct {
	Action           string `json:"action"`
	Authorization    string `json:"authorization"`
	Decision         string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment      string `json:"environment"`
	Reason           string `json:"reason"`
	StandingApproval string `json:"standing_approval"`
	Subject          string `json:"subject,omitzero"`
	Uses             int64  `json:"uses"`
}

// EventType is standing.ended.
func (*StandingEnded) EventType() string { return TypeStandingEnded }

// ChangeRequested is the payload of change.requested. A change of the configuration waits for a second approver.
type ChangeRequested struct {
	Action      string    `json:"action,omitzero"`
	After       string    `json:"after,omitzero"`
	Before      string    `json:"before,omitzero"`
	Change      string    `json:"change"`
	Environment string    `json:"environment"`
	ExpiresAt   time.Time `json:"expires_at"`
	Kind        string    `json:"kind"` // policy.activate, action.mode, environment.settings, team.create, team.update, team.delete, webhook.create, webhook.update, list.entries, list.delete, subject.reinstate, person.manager, signals.set, signals.remove, destination.set, destination.remove
}

// EventType is change.requested.
func (*ChangeRequested) EventType() string { return TypeChangeRequested }

// ChangeApproved is the payload of change.approved. A second approver approved a change, which is in force from now
// on.
type ChangeApproved struct {
	Action      string `json:"action,omitzero"`
	After       string `json:"after,omitzero"`
	Before      string `json:"before,omitzero"`
	Change      string `json:"change"`
	Environment string `json:"environment"`
	Kind        string `json:"kind"` // policy.activate, action.mode, environment.settings, team.create, team.update, team.delete, webhook.create, webhook.update, list.entries, list.delete, subject.reinstate, person.manager, signals.set, signals.remove, destination.set, destination.remove
	RequestedBy string `json:"requested_by"`
	ResolvedBy  string `json:"resolved_by"`
}

// EventType is change.approved.
func (*ChangeApproved) EventType() string { return TypeChangeApproved }

// ChangeRejected is the payload of change.rejected. A second approver rejected a change.
type ChangeRejected struct {
	Action      string `json:"action,omitzero"`
	After       string `json:"after,omitzero"`
	Before      string `json:"before,omitzero"`
	Change      string `json:"change"`
	Environment string `json:"environment"`
	Kind        string `json:"kind"` // policy.activate, action.mode, environment.settings, team.create, team.update, team.delete, webhook.create, webhook.update, list.entries, list.delete, subject.reinstate, person.manager, signals.set, signals.remove, destination.set, destination.remove
	RequestedBy string `json:"requested_by"`
	ResolvedBy  string `json:"resolved_by"`
}

// EventType is change.rejected.
func (*ChangeRejected) EventType() string { return TypeChangeRejected }

// ChangeWithdrawn is the payload of change.withdrawn. The requester withdrew a change.
type ChangeWithdrawn struct {
	Action      string `json:"action,omitzero"`
	After       string `json:"after,omitzero"`
	Before      string `json:"before,omitzero"`
	Change      string `json:"change"`
	Environment string `json:"environment"`
	Kind        string `json:"kind"` // policy.activate, action.mode, environment.settings, team.create, team.update, team.delete, webhook.create, webhook.update, list.entries, list.delete, subject.reinstate, person.manager, signals.set, signals.remove, destination.set, destination.remove
	RequestedBy string `json:"requested_by"`
	ResolvedBy  string `json:"resolved_by"`
}

// EventType is change.withdrawn.
func (*ChangeWithdrawn) EventType() string { return TypeChangeWithdrawn }

// ChangeSuperseded is the payload of change.superseded. A change was approved after its base had changed, and was not
// applied.
type ChangeSuperseded struct {
	Action      string `json:"action,omitzero"`
	After       string `json:"after,omitzero"`
	Before      string `json:"before,omitzero"`
	Change      string `json:"change"`
	Environment string `json:"environment"`
	Kind        string `json:"kind"` // policy.activate, action.mode, environment.settings, team.create, team.update, team.delete, webhook.create, webhook.update, list.entries, list.delete, subject.reinstate, person.manager, signals.set, signals.remove, destination.set, destination.remove
	RequestedBy string `json:"requested_by"`
	ResolvedBy  string `json:"resolved_by"`
}

// EventType is change.superseded.
func (*ChangeSuperseded) EventType() string { return TypeChangeSuperseded }

// ChangeExpired is the payload of change.expired. A change was not approved in time.
type ChangeExpired struct {
	Action      string    `json:"action,omitzero"`
	After       string    `json:"after,omitzero"`
	Before      string    `json:"before,omitzero"`
	Change      string    `json:"change"`
	Environment string    `json:"environment"`
	ExpiresAt   time.Time `json:"expires_at"`
	Kind        string    `json:"kind"` // policy.activate, action.mode, environment.settings, team.create, team.update, team.delete, webhook.create, webhook.update, list.entries, list.delete, subject.reinstate, person.manager, signals.set, signals.remove, destination.set, destination.remove
}

// EventType is change.expired.
func (*ChangeExpired) EventType() string { return TypeChangeExpired }

// TrustStateChanged is the payload of trust.state_changed. The trust state of a session changed.
type TrustStateChanged struct {
	Coverage    string   `json:"coverage,omitzero"` // none, sparse, partial, sufficient
	Environment string   `json:"environment"`
	From        string   `json:"from"`
	ReasonCodes []string `json:"reason_codes"`
	Score       *float64 `json:"score,omitzero"`
	Session     string   `json:"session"`
	Subject     string   `json:"subject,omitzero"`
	To          string   `json:"to"`
}

// EventType is trust.state_changed.
func (*TrustStateChanged) EventType() string { return TypeTrustStateChanged }

// SessionAnomaly is the payload of session.anomaly. The evidence of a session is anomalous: automation, replay or a
// different operator.
type SessionAnomaly struct {
	Claim       string   `json:"claim,omitzero"`
	Environment string   `json:"environment"`
	Frame       string   `json:"frame,omitzero"`
	ReasonCodes []string `json:"reason_codes"`
	Session     string   `json:"session"`
	Status      string   `json:"status,omitzero"`
	Subject     string   `json:"subject,omitzero"`
}

// EventType is session.anomaly.
func (*SessionAnomaly) EventType() string { return TypeSessionAnomaly }

// EnrollmentCompleted is the payload of enrollment.completed. A subject's template was learned.
type EnrollmentCompleted struct {
	Anchor          string   `json:"anchor,omitzero"`
	DeviceClass     string   `json:"device_class,omitzero"`
	Enrollment      string   `json:"enrollment"`
	Environment     string   `json:"environment"`
	Forced          bool     `json:"forced,omitzero"`
	Limitations     []string `json:"limitations,omitzero"`
	Modalities      []string `json:"modalities,omitzero"`
	RefusedSessions []string `json:"refused_sessions,omitzero"`
	Session         string   `json:"session,omitzero"`
	Subject         string   `json:"subject"`
	WindowsAccepted int64    `json:"windows_accepted"`
}

// EventType is enrollment.completed.
func (*EnrollmentCompleted) EventType() string { return TypeEnrollmentCompleted }

// EnrollmentFailed is the payload of enrollment.failed. There was too little consistent evidence to learn a template.
type EnrollmentFailed struct {
	Anchor          string   `json:"anchor,omitzero"`
	DeviceClass     string   `json:"device_class,omitzero"`
	Enrollment      string   `json:"enrollment"`
	Environment     string   `json:"environment"`
	Forced          bool     `json:"forced,omitzero"`
	Limitations     []string `json:"limitations"`
	Modalities      []string `json:"modalities,omitzero"`
	RefusedSessions []string `json:"refused_sessions,omitzero"`
	Session         string   `json:"session,omitzero"`
	Subject         string   `json:"subject"`
	WindowsAccepted int64    `json:"windows_accepted"`
}

// EventType is enrollment.failed.
func (*EnrollmentFailed) EventType() string { return TypeEnrollmentFailed }

// RecoveryStarted is the payload of recovery.started. A recovery began: open challenges and proofs are void, the
// template is reset.
type RecoveryStarted struct {
	Anchor      string     `json:"anchor"` // none, customer_session, idp, passkey, verified_identity
	Environment string     `json:"environment"`
	ExpiresAt   *time.Time `json:"expires_at,omitzero"`
	Limitations []string   `json:"limitations,omitzero"`
	ReadyAt     *time.Time `json:"ready_at,omitzero"`
	Recovery    string     `json:"recovery"`
	Subject     string     `json:"subject"`
}

// EventType is recovery.started.
func (*RecoveryStarted) EventType() string { return TypeRecoveryStarted }

// RecoveryReady is the payload of recovery.ready. The cooling-down time is over; the subject may enroll again.
type RecoveryReady struct {
	Anchor      string     `json:"anchor"` // none, customer_session, idp, passkey, verified_identity
	Environment string     `json:"environment"`
	ExpiresAt   *time.Time `json:"expires_at,omitzero"`
	Limitations []string   `json:"limitations,omitzero"`
	ReadyAt     *time.Time `json:"ready_at,omitzero"`
	Recovery    string     `json:"recovery"`
	Subject     string     `json:"subject"`
}

// EventType is recovery.ready.
func (*RecoveryReady) EventType() string { return TypeRecoveryReady }

// RecoveryCompleted is the payload of recovery.completed. A new enrollment completed the recovery.
type RecoveryCompleted struct {
	Anchor      string     `json:"anchor"` // none, customer_session, idp, passkey, verified_identity
	Environment string     `json:"environment"`
	ExpiresAt   *time.Time `json:"expires_at,omitzero"`
	Limitations []string   `json:"limitations,omitzero"`
	ReadyAt     *time.Time `json:"ready_at,omitzero"`
	Recovery    string     `json:"recovery"`
	Subject     string     `json:"subject"`
}

// EventType is recovery.completed.
func (*RecoveryCompleted) EventType() string { return TypeRecoveryCompleted }

// RecoveryExpired is the payload of recovery.expired. The recovery expired before a new enrollment.
type RecoveryExpired struct {
	Anchor      string     `json:"anchor"` // none, customer_session, idp, passkey, verified_identity
	Environment string     `json:"environment"`
	ExpiresAt   *time.Time `json:"expires_at,omitzero"`
	Limitations []string   `json:"limitations,omitzero"`
	ReadyAt     *time.Time `json:"ready_at,omitzero"`
	Recovery    string     `json:"recovery"`
	Subject     string     `json:"subject"`
}

// EventType is recovery.expired.
func (*RecoveryExpired) EventType() string { return TypeRecoveryExpired }

// SubjectCreated is the payload of subject.created. A subject was created.
type SubjectCreated struct {
	Environment string `json:"environment"`
	Subject     string `json:"subject"`
	Via         string `json:"via,omitzero"`
}

// EventType is subject.created.
func (*SubjectCreated) EventType() string { return TypeSubjectCreated }

// SubjectRevoked is the payload of subject.revoked. A subject was revoked: its proofs are void and every later
// decision is deny.
type SubjectRevoked struct {
	ChallengesCancelled *int64 `json:"challenges_cancelled,omitzero"`
	Environment         string `json:"environment"`
	ProofsRevoked       *int64 `json:"proofs_revoked,omitzero"`
	ReasonDigest        string `json:"reason_digest,omitzero"`
	Subject             string `json:"subject"`
}

// EventType is subject.revoked.
func (*SubjectRevoked) EventType() string { return TypeSubjectRevoked }

// SubjectReinstated is the payload of subject.reinstated. A second principal ended the revocation of a subject.
type SubjectReinstated struct {
	Change      string `json:"change"`
	Environment string `json:"environment"`
	Subject     string `json:"subject"`
}

// EventType is subject.reinstated.
func (*SubjectReinstated) EventType() string { return TypeSubjectReinstated }

// SubjectAdaptationChanged is the payload of subject.adaptation_changed. Adaptation of the subject's template was
// frozen or released.
type SubjectAdaptationChanged struct {
	Environment  string `json:"environment"`
	Frozen       bool   `json:"frozen"`
	ReasonDigest string `json:"reason_digest,omitzero"`
	Subject      string `json:"subject"`
}

// EventType is subject.adaptation_changed.
func (*SubjectAdaptationChanged) EventType() string { return TypeSubjectAdaptationChanged }

// SubjectConsentChanged is the payload of subject.consent_changed. Consent to research use was given or withdrawn.
type SubjectConsentChanged struct {
	Consented      bool   `json:"consented"`
	Environment    string `json:"environment"`
	Subject        string `json:"subject"`
	VectorsRemoved *int64 `json:"vectors_removed,omitzero"`
}

// EventType is subject.consent_changed.
func (*SubjectConsentChanged) EventType() string { return TypeSubjectConsentChanged }

// SubjectExported is the payload of subject.exported. Everything stored about the subject was exported.
type SubjectExported struct {
	Digest      string `json:"digest,omitzero"`
	Environment string `json:"environment"`
	Subject     string `json:"subject"`
}

// EventType is subject.exported.
func (*SubjectExported) EventType() string { return TypeSubjectExported }

// SubjectErasureRequested is the payload of subject.erasure_requested. Erasure of the subject began.
type SubjectErasureRequested struct {
	Environment string `json:"environment"`
	Erasure     string `json:"erasure"`
	Subject     string `json:"subject,omitzero"`
}

// EventType is subject.erasure_requested.
func (*SubjectErasureRequested) EventType() string { return TypeSubjectErasureRequested }

// SubjectErased is the payload of subject.erased. Everything stored about a subject was removed. The event names the
// erasure, not the subject.
type SubjectErased struct {
	Environment string   `json:"environment"`
	Erasure     string   `json:"erasure"`
	Events      *int64   `json:"events,omitzero"`
	Kinds       []string `json:"kinds,omitzero"`
	Removed     *int64   `json:"removed,omitzero"`
}

// EventType is subject.erased.
func (*SubjectErased) EventType() string { return TypeSubjectErased }

// TemplateRolledBack is the payload of template.rolled_back. A template of the subject was rolled back to an earlier
// version.
type TemplateRolledBack struct {
	DeviceClass string `json:"device_class"`
	Environment string `json:"environment"`
	FromVersion int64  `json:"from_version"`
	Modality    string `json:"modality"`
	Subject     string `json:"subject"`
	Template    string `json:"template"`
	ToVersion   int64  `json:"to_version"`
}

// EventType is template.rolled_back.
func (*TemplateRolledBack) EventType() string { return TypeTemplateRolledBack }

// PasskeyRegistered is the payload of passkey.registered. A passkey was registered for the subject.
type PasskeyRegistered struct {
	AAGUID      string `json:"aaguid,omitzero"`
	BackedUp    bool   `json:"backed_up,omitzero"`
	Environment string `json:"environment"`
	Imported    bool   `json:"imported,omitzero"`
	Passkey     string `json:"passkey"`
	Subject     string `json:"subject"`
}

// EventType is passkey.registered.
func (*PasskeyRegistered) EventType() string { return TypePasskeyRegistered }

// PasskeyRevoked is the payload of passkey.revoked. A passkey of the subject was revoked.
type PasskeyRevoked struct {
	Environment string `json:"environment"`
	Passkey     string `json:"passkey"`
	Reason      string `json:"reason,omitzero"`
	Remaining   *int64 `json:"remaining,omitzero"`
	Subject     string `json:"subject,omitzero"`
}

// EventType is passkey.revoked.
func (*PasskeyRevoked) EventType() string { return TypePasskeyRevoked }

// ProofRevoked is the payload of proof.revoked. A proof was revoked before it expired.
type ProofRevoked struct {
	Action        string `json:"action,omitzero"`
	Authorization string `json:"authorization,omitzero"`
	Decision      string `json:"decision,omitzero"` // allow, challenge, hold, deny
	Environment   string `json:"environment"`
	ProofID       string `json:"proof_id"`
	Reason        string `json:"reason"`
	Subject       string `json:"subject,omitzero"`
}

// EventType is proof.revoked.
func (*ProofRevoked) EventType() string { return TypeProofRevoked }

// AuthenticationDecided is the payload of authentication.decided. The earlier /auth operation decided.
type AuthenticationDecided struct {
	Confidence  *float64 `json:"confidence,omitzero"`
	Decision    string   `json:"decision"` // accept, challenge, reject
	Environment string   `json:"environment"`
	ReasonCodes []string `json:"reason_codes"`
	Subject     string   `json:"subject"`
}

// EventType is authentication.decided.
func (*AuthenticationDecided) EventType() string { return TypeAuthenticationDecided }

// EvaluationClosed is the payload of evaluation.closed. An evaluation ended.
type EvaluationClosed struct {
	Decisions    *int64 `json:"decisions,omitzero"`
	Environment  string `json:"environment"`
	Evaluation   string `json:"evaluation"`
	ReportDigest string `json:"report_digest,omitzero"`
	Result       string `json:"result"` // passed, failed
}

// EventType is evaluation.closed.
func (*EvaluationClosed) EventType() string { return TypeEvaluationClosed }

// WebhookTest is the payload of webhook.test. A test, sent on request to one endpoint. It is not in the log.
type WebhookTest struct {
	Endpoint    string `json:"endpoint"`
	Environment string `json:"environment"`
}

// EventType is webhook.test.
func (*WebhookTest) EventType() string { return TypeWebhookTest }

// WebhookFailing is the payload of webhook.failing. An endpoint keeps failing; deliveries to it wait for a probe to
// succeed.
type WebhookFailing struct {
	Endpoint     string     `json:"endpoint"`
	Environment  string     `json:"environment"`
	FailingSince *time.Time `json:"failing_since,omitzero"`
	Failures     *int64     `json:"failures,omitzero"`
	Reason       string     `json:"reason"`
}

// EventType is webhook.failing.
func (*WebhookFailing) EventType() string { return TypeWebhookFailing }

// WebhookRecovered is the payload of webhook.recovered. An endpoint that was failing accepts deliveries again.
type WebhookRecovered struct {
	Endpoint     string     `json:"endpoint"`
	Environment  string     `json:"environment"`
	FailingSince *time.Time `json:"failing_since,omitzero"`
	Failures     *int64     `json:"failures,omitzero"`
	Reason       string     `json:"reason"`
}

// EventType is webhook.recovered.
func (*WebhookRecovered) EventType() string { return TypeWebhookRecovered }

// WebhookDisabled is the payload of webhook.disabled. An endpoint was disabled: it failed for five days, or returned
// 410.
type WebhookDisabled struct {
	Endpoint     string     `json:"endpoint"`
	Environment  string     `json:"environment"`
	FailingSince *time.Time `json:"failing_since,omitzero"`
	Failures     *int64     `json:"failures,omitzero"`
	Reason       string     `json:"reason"`
}

// EventType is webhook.disabled.
func (*WebhookDisabled) EventType() string { return TypeWebhookDisabled }

// QuotaNearlyUsed is the payload of quota.nearly_used. A key, or the environment's servers or browsers, used 80 % of
// their quota. It is recorded again only after half of the quota was free.
type QuotaNearlyUsed struct {
	Credential  string `json:"credential,omitzero"`
	Environment string `json:"environment"`
	Limit       int64  `json:"limit"`
	Quota       string `json:"quota"`
	UsedPercent int64  `json:"used_percent"`
}

// EventType is quota.nearly_used.
func (*QuotaNearlyUsed) EventType() string { return TypeQuotaNearlyUsed }
