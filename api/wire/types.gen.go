// Code generated from the contract by tools/gosdk; DO NOT EDIT.

package wire

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/subject/alias"
	"github.com/countersign-dev/countersign/models"
)

// ActionUpdate: The fields to change. An omitted or null field keeps its value.
type ActionUpdate struct {
	Name        *string                      `json:"name"`
	Consequence *string                      `json:"consequence"`
	Labels      map[string]models.ActionText `json:"labels"`
	Mode        *string                      `json:"mode"`
}

// AdaptationFreeze: Freezes or unfreezes the adaptation of the template.
type AdaptationFreeze struct {
	Frozen bool   `json:"frozen"`
	Reason string `json:"reason"`
}

// SetDefaults sets the values of what a request omits.
func (v *AdaptationFreeze) SetDefaults() {
	v.Frozen = true
}

// AfterReviewVerdict: A verdict about a break-glass.
type AfterReviewVerdict struct {
	Verdict string `json:"verdict"`
	Note    string `json:"note"`
}

// Background: A background model of the population that a person is compared with.
type Background struct {
	Version       string `json:"version"`
	Modality      string `json:"modality"`
	Data          string `json:"data"`
	Licence       string `json:"licence"`
	NonCommercial bool   `json:"non_commercial"`
	Local         bool   `json:"local"`
	People        int    `json:"people"`
}

// Brand: The look of the environment's hosted pages. What is not set is empty. Nothing of it is part of what a passkey
// signs.
type Brand struct {
	Name     string `json:"name"`
	Accent   string `json:"accent"`
	Language string `json:"language"`
	Logo     string `json:"logo"`
}

// ChallengeCancelled: The challenge is cancelled.
type ChallengeCancelled struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// ChallengeCompleteRequest: The completed step-up. A passkey requires its assertion.
type ChallengeCompleteRequest struct {
	Method    string          `json:"method"`
	Assertion json.RawMessage `json:"assertion"`
}

// ChallengeLink: A short-lived URL that opens this challenge in a browser.
type ChallengeLink struct {
	URL       string `json:"url"`
	ExpiresAt Time   `json:"expires_at"`
}

// ChallengeLinkRequest: Whom the link is for, and where the user continues after the challenge.
type ChallengeLinkRequest struct {
	ReturnURL string `json:"return_url"`
	For       string `json:"for"`
}

// ChallengePublicView: The challenge as the user sees it before confirming.
type ChallengePublicView struct {
	ID                 string          `json:"id"`
	Status             string          `json:"status"`
	Methods            []string        `json:"methods"`
	ExpiresAt          Time            `json:"expires_at"`
	Display            json.RawMessage `json:"display"`
	ChildAuthorization *string         `json:"child_authorization"`
}

// ChangeReason: Why a change is requested or settled. A policy version's own reason is that of the request to activate
// it unless another is given.
type ChangeReason struct {
	Reason string `json:"reason"`
}

// ChangeRequest: A change of the configuration that waits, or waited, for a second approver.
type ChangeRequest struct {
	ID               string                    `json:"id"`
	Kind             string                    `json:"kind"`
	Status           string                    `json:"status"`
	ActionID         *string                   `json:"action_id"`
	Action           *string                   `json:"action"`
	PolicyVersion    *int                      `json:"policy_version"`
	Team             *string                   `json:"team"`
	Endpoint         *string                   `json:"endpoint"`
	List             *string                   `json:"list"`
	Subject          *string                   `json:"subject"`
	Differences      []change.Difference       `json:"differences"`
	RequestedBy      string                    `json:"requested_by"`
	RequestedAt      Time                      `json:"requested_at"`
	ExpiresAt        Time                      `json:"expires_at"`
	ResolvedBy       *string                   `json:"resolved_by"`
	ResolvedAt       *Time                     `json:"resolved_at"`
	Reason           string                    `json:"reason"`
	ResolutionReason string                    `json:"resolution_reason"`
	Approvable       bool                      `json:"approvable"`
	Applies          *bool                     `json:"applies"`
	Simulation       *authorization.Simulation `json:"simulation"`
}

// ClaimInfo: A claim and the statuses it can have.
type ClaimInfo struct {
	Claim       string   `json:"claim"`
	Statuses    []string `json:"statuses"`
	Description string   `json:"description"`
}

// ClientTokenCreate: A browser credential for one subject and one origin.
type ClientTokenCreate struct {
	Subject    string   `json:"subject"`
	Origin     string   `json:"origin"`
	TTLSeconds int      `json:"ttl_seconds"`
	Purposes   []string `json:"purposes"`
	Session    string   `json:"session"`
}

// SetDefaults sets the values of what a request omits.
func (v *ClientTokenCreate) SetDefaults() {
	v.TTLSeconds = 900
}

// ClientTokenCreated: The token, which is shown only once.
type ClientTokenCreated struct {
	ClientToken string   `json:"client_token"`
	ExpiresAt   float64  `json:"expires_at"`
	TTLSeconds  int      `json:"ttl_seconds"`
	Origin      string   `json:"origin"`
	Purposes    []string `json:"purposes,omitzero"`
	Session     *string  `json:"session"`
}

// Credential: A credential without its secret.
type Credential struct {
	ID          string              `json:"id"`
	Scope       string              `json:"scope"`
	Permissions []models.Permission `json:"permissions"`
	Name        *string             `json:"name"`
	Preview     string              `json:"preview"`
	RateLimit   *int                `json:"rate_limit"`
	CreatedAt   Time                `json:"created_at"`
	IssuedBy    string              `json:"issued_by"`
	Principal   string              `json:"principal"`
	ExpiresAt   *Time               `json:"expires_at"`
	LapsesAt    *Time               `json:"lapses_at"`
	LastUsedAt  *Time               `json:"last_used_at"`
	RevokedAt   *Time               `json:"revoked_at"`
}

// CredentialCreate: A new key for this environment.
type CredentialCreate struct {
	Scope       string              `json:"scope"`
	Permissions []models.Permission `json:"permissions"`
	Name        string              `json:"name"`
	RateLimit   *int                `json:"rate_limit"`
	ExpiresAt   *Time               `json:"expires_at"`
}

// CredentialIdentity: The calling credential, without its secret.
type CredentialIdentity struct {
	Credential      string              `json:"credential"`
	Tenant          string              `json:"tenant"`
	Environment     string              `json:"environment"`
	EnvironmentKind string              `json:"environment_kind"`
	Scope           string              `json:"scope"`
	Permissions     []models.Permission `json:"permissions"`
	Mode            string              `json:"mode"`
	ProofIssuer     string              `json:"proof_issuer"`
}

// CredentialWithKey: A credential with its secret, which is shown only once.
type CredentialWithKey struct {
	Credential
	Key string `json:"key"`
}

// Destination: A system to which the sealed log is pushed.
type Destination struct {
	ID             string  `json:"id"`
	Name           string  `json:"name"`
	Kind           string  `json:"kind"`
	URL            string  `json:"url"`
	Encoding       *string `json:"encoding"`
	Header         *string `json:"header"`
	Ca             *string `json:"ca"`
	Since          *Time   `json:"since"`
	HasCredentials bool    `json:"has_credentials"`
	Position       int     `json:"position"`
	Behind         int     `json:"behind"`
	OldestBehind   *Time   `json:"oldest_behind"`
	SentAt         *Time   `json:"sent_at"`
	FailingSince   *Time   `json:"failing_since"`
	LastError      *string `json:"last_error"`
	CreatedAt      Time    `json:"created_at"`
	UpdatedAt      Time    `json:"updated_at"`
}

// DestinationSet: The settings of a destination of the log.
type DestinationSet struct {
	Kind     string `json:"kind"`
	URL      string `json:"url"`
	Encoding string `json:"encoding"`
	Header   string `json:"header"`
	Ca       string `json:"ca"`
	Since    *Time  `json:"since"`
}

// Enrollment: One training of a subject's template.
type Enrollment struct {
	ID              string           `json:"id"`
	Subject         string           `json:"subject"`
	Anchor          string           `json:"anchor"`
	Status          string           `json:"status"`
	WindowsAccepted int              `json:"windows_accepted"`
	CreatedAt       Time             `json:"created_at"`
	CompletedAt     *Time            `json:"completed_at"`
	Limitations     []string         `json:"limitations,omitzero"`
	RefusedSessions []RefusedSession `json:"refused_sessions,omitzero"`
}

// EnrollmentComplete: Trains the template with the collected evidence.
type EnrollmentComplete struct {
	Session string `json:"session"`
	Force   bool   `json:"force"`
}

// ErasureReceipt: The erasure has begun. The subject is not found by other requests.
type ErasureReceipt struct {
	Subject     string `json:"subject"`
	Erasure     string `json:"erasure"`
	Status      string `json:"status"`
	RequestedAt Time   `json:"requested_at"`
}

// EvaluationCreate: A new evaluation.
type EvaluationCreate struct {
	Name            string               `json:"name"`
	ActionKeys      []string             `json:"action_keys"`
	StartsAt        *Time                `json:"starts_at"`
	EndsAt          *Time                `json:"ends_at"`
	SuccessCriteria *evaluation.Criteria `json:"success_criteria"`
}

// HeldReview: A hold in the queue of reviewers.
type HeldReview struct {
	Authorization  string               `json:"authorization"`
	Action         string               `json:"action"`
	Subject        string               `json:"subject"`
	RiskClass      string               `json:"risk_class"`
	ReasonCodes    []string             `json:"reason_codes"`
	OpenedAt       Time                 `json:"opened_at"`
	DueAt          Time                 `json:"due_at"`
	ReviewStatus   string               `json:"review_status"`
	RemindedAt     *Time                `json:"reminded_at"`
	Approvals      hold.Approvals       `json:"approvals"`
	SelfReview     string               `json:"self_review"`
	YourResolution *string              `json:"your_resolution"`
	Reviewable     bool                 `json:"reviewable"`
	Approvable     bool                 `json:"approvable"`
	AssignedTo     *string              `json:"assigned_to"`
	Teams          []hold.Wanted        `json:"teams,omitzero"`
	Steps          []hold.Stage         `json:"steps,omitzero"`
	Display        *authorization.Shown `json:"display"`
}

// LegacyAuth: A timing sample to compare.
type LegacyAuth struct {
	UserID             string    `json:"user_id"`
	ReactionTimes      []float64 `json:"reaction_times"`
	KeystrokeIntervals []float64 `json:"keystroke_intervals"`
}

// LegacyEnrol: A timing sample of a user.
type LegacyEnrol struct {
	LegacyAuth
	Consent bool `json:"consent"`
}

// LegacySessionEnd: End a session.
type LegacySessionEnd struct {
	SessionID string `json:"session_id"`
}

// LegacySessionStart: Start a continuous trust session after the user logged in.
type LegacySessionStart struct {
	UserID   string `json:"user_id"`
	DeviceID string `json:"device_id"`
}

// ManualReviewRequest: A review of a hold.
type ManualReviewRequest struct {
	Resolution string  `json:"resolution"`
	Note       *string `json:"note"`
	Step       *string `json:"step"`
}

// NamedList: A list of values that rules read by `X in list("NAME")`. Values are compared without regard to case and
// white space.
type NamedList struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Personal    bool   `json:"personal"`
	Description string `json:"description"`
	Version     int    `json:"version"`
	Entries     int    `json:"entries"`
	CreatedAt   Time   `json:"created_at"`
	CreatedBy   string `json:"created_by"`
}

// NamedListAdded: A value to add.
type NamedListAdded struct {
	Value     string `json:"value"`
	Reason    string `json:"reason"`
	ExpiresAt *Time  `json:"expires_at"`
}

// NamedListChange: Entries to add and to remove.
type NamedListChange struct {
	Add    []NamedListAdded `json:"add"`
	Remove []lists.Removed  `json:"remove"`
}

// NamedListEntry: A value of a list.
type NamedListEntry struct {
	ID        string  `json:"id"`
	Value     *string `json:"value"`
	Reason    string  `json:"reason"`
	ExpiresAt *Time   `json:"expires_at"`
	AddedAt   Time    `json:"added_at"`
	AddedBy   string  `json:"added_by"`
}

// OutcomeReport: The outcome of the action.
type OutcomeReport struct {
	Outcome string  `json:"outcome"`
	Note    *string `json:"note"`
}

// Passkey: A registered passkey.
type Passkey struct {
	PasskeySummary
	AAGUID         *string  `json:"aaguid"`
	BackupEligible bool     `json:"backup_eligible"`
	BackedUp       bool     `json:"backed_up"`
	Transports     []string `json:"transports,omitzero"`
	RPID           *string  `json:"rp_id"`
	RevokedAt      *Time    `json:"revoked_at"`
}

// PasskeyAssertionOptionsRequest: Where the ceremony takes place.
type PasskeyAssertionOptionsRequest struct {
	RPID string `json:"rp_id"`
}

// PasskeyRegistered: The passkey is registered.
type PasskeyRegistered struct {
	ID        string `json:"id"`
	CreatedAt Time   `json:"created_at"`
}

// PasskeyRegistrationComplete: The passkey that the browser created.
type PasskeyRegistrationComplete struct {
	RegistrationGrant string          `json:"registration_grant"`
	Credential        json.RawMessage `json:"credential"`
}

// PasskeyRegistrationGrant: A one-time permission to register a passkey.
type PasskeyRegistrationGrant struct {
	Token     string `json:"token"`
	ExpiresAt Time   `json:"expires_at"`
}

// PasskeyRegistrationOptionsRequest: Exchange a grant for registration options.
type PasskeyRegistrationOptionsRequest struct {
	RegistrationGrant string `json:"registration_grant"`
	RPID              string `json:"rp_id"`
}

// PasskeyRules: The rules of passkeys beside `rp_id` and `origins` (`docs/passkeys.md`).
type PasskeyRules struct {
	RPIDs            []string `json:"rp_ids"`
	RelatedOrigins   []string `json:"related_origins"`
	Attestation      string   `json:"attestation"`
	AttestationRoots []string `json:"attestation_roots"`
	Aaguids          []string `json:"aaguids"`
}

// PasskeySummary: Summary of a passkey.
type PasskeySummary struct {
	ID         string `json:"id"`
	CreatedAt  Time   `json:"created_at"`
	LastUsedAt *Time  `json:"last_used_at"`
}

// PersonManager: A member of staff and their manager.
type PersonManager struct {
	Person  string  `json:"person"`
	Manager *string `json:"manager"`
}

// PersonManagerUpdate: Who manages a member of staff.
type PersonManagerUpdate struct {
	Manager *string `json:"manager"`
}

// PolicySimulationRequest: The stored decisions of the action to re-evaluate under this version.
type PolicySimulationRequest struct {
	Last  int   `json:"last"`
	Since *Time `json:"since"`
	Until *Time `json:"until"`
	List  int   `json:"list"`
}

// SetDefaults sets the values of what a request omits.
func (v *PolicySimulationRequest) SetDefaults() {
	v.Last = 1000
	v.List = 100
}

// PolicyVersion: One immutable decision contract of an action.
type PolicyVersion struct {
	ID               string           `json:"id"`
	Action           string           `json:"action"`
	Version          int              `json:"version"`
	Status           string           `json:"status"`
	Requirements     json.RawMessage  `json:"requirements"`
	ContextSchema    json.RawMessage  `json:"context_schema"`
	AllowedAudiences []string         `json:"allowed_audiences"`
	AllowedCallers   []string         `json:"allowed_callers"`
	ProofTTLSeconds  int              `json:"proof_ttl_seconds"`
	ContentHash      string           `json:"content_hash"`
	CreatedAt        Time             `json:"created_at"`
	ActivatedAt      *Time            `json:"activated_at"`
	RetiredAt        *Time            `json:"retired_at"`
	Reason           string           `json:"reason"`
	Warnings         []policy.Warning `json:"warnings,omitzero"`
}

// ProofStatus: The status of a proof.
type ProofStatus struct {
	JTI       string `json:"jti"`
	Status    string `json:"status"`
	ExpiresAt *Time  `json:"expires_at"`
	RevokedAt *Time  `json:"revoked_at"`
}

// ProofVerifyRequest: A proof and its expected values.
type ProofVerifyRequest struct {
	Proof    string         `json:"proof"`
	Audience string         `json:"audience"`
	Action   string         `json:"action"`
	Resource *Resource      `json:"resource"`
	Nonce    string         `json:"nonce"`
	Subject  string         `json:"subject"`
	Context  map[string]any `json:"context"`
	Consume  bool           `json:"consume"`
}

// ProtectedAction: An action that needs an authorization before it may be performed.
type ProtectedAction struct {
	ID                  string          `json:"id"`
	Environment         string          `json:"environment"`
	Key                 string          `json:"key"`
	Name                string          `json:"name"`
	Consequence         string          `json:"consequence"`
	Labels              json.RawMessage `json:"labels,omitempty"`
	RiskClass           string          `json:"risk_class"`
	ResourceType        string          `json:"resource_type"`
	ContextSchema       json.RawMessage `json:"context_schema"`
	Mode                string          `json:"mode"`
	AllowedAudiences    []string        `json:"allowed_audiences"`
	AllowedCallers      []string        `json:"allowed_callers"`
	ProofTTLSeconds     int             `json:"proof_ttl_seconds"`
	ActivePolicyVersion *int            `json:"active_policy_version"`
	CreatedAt           Time            `json:"created_at"`
	UpdatedAt           Time            `json:"updated_at"`
}

// Reason: An optional reason, stored in the audit log.
type Reason struct {
	Reason string `json:"reason"`
}

// RefusedSession: A session that an enrollment did not use.
type RefusedSession struct {
	Session string `json:"session"`
	Reason  string `json:"reason"`
}

// RelatedOrigins: The sites that may use the passkeys of a host (WebAuthn Level 3, section 5.11).
type RelatedOrigins struct {
	Origins []string `json:"origins"`
}

// ResearchConsentRecord: The recorded consent.
type ResearchConsentRecord struct {
	Subject    string `json:"subject"`
	Consented  bool   `json:"consented"`
	RecordedAt Time   `json:"recorded_at"`
}

// ResearchConsentRequest: The subject's consent to research use.
type ResearchConsentRequest struct {
	Consented bool `json:"consented"`
}

// Resource: The resource of the action.
type Resource struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// ReviewAssign: Whom the hold is taken from.
type ReviewAssign struct {
	Previous string `json:"previous"`
}

// ReviewAssignment: Who works on a hold.
type ReviewAssignment struct {
	Authorization string  `json:"authorization"`
	AssignedTo    *string `json:"assigned_to"`
	AssignedAt    *Time   `json:"assigned_at"`
}

// ReviewCounts: Counts of pending holds.
type ReviewCounts struct {
	AsOf           Time              `json:"as_of"`
	Pending        int               `json:"pending"`
	Due            ReviewsDue        `json:"due"`
	Reminded       int               `json:"reminded"`
	PartlyApproved int               `json:"partly_approved"`
	OldestOpenedAt *Time             `json:"oldest_opened_at"`
	NextDueAt      *Time             `json:"next_due_at"`
	ByRiskClass    []hold.KeyedCount `json:"by_risk_class"`
	ByAction       []hold.KeyedCount `json:"by_action"`
}

// ReviewsDue: Pending holds by remaining time. Each is counted once.
type ReviewsDue struct {
	Within1h  int `json:"within_1h"`
	Within24h int `json:"within_24h"`
	Later     int `json:"later"`
}

// RotateRequest: How long the old secret remains valid.
type RotateRequest struct {
	OverlapSeconds int `json:"overlap_seconds"`
}

// SetDefaults sets the values of what a request omits.
func (v *RotateRequest) SetDefaults() {
	v.OverlapSeconds = 86400
}

// Session: An observation session.
type Session struct {
	ID             string `json:"id"`
	Subject        string `json:"subject"`
	Environment    string `json:"environment"`
	DeviceClass    string `json:"device_class"`
	Status         string `json:"status"`
	StartedAt      Time   `json:"started_at"`
	EndedAt        *Time  `json:"ended_at"`
	LastEvidenceAt *Time  `json:"last_evidence_at"`
}

// SessionCreate: A new observation session.
type SessionCreate struct {
	Subject     string `json:"subject"`
	DeviceClass string `json:"device_class"`
}

// SetDefaults sets the values of what a request omits.
func (v *SessionCreate) SetDefaults() {
	v.DeviceClass = "unknown"
}

// SessionStatus: A session and how much evidence it has.
type SessionStatus struct {
	Session
	Coverage          string   `json:"coverage"`
	EvidenceWindows   int      `json:"evidence_windows"`
	ActiveSeconds     float64  `json:"active_seconds"`
	ModalitiesPresent []string `json:"modalities_present"`
	EnrollmentReady   bool     `json:"enrollment_ready"`
}

// SigningKey: A proof-signing key of the environment. The private half never leaves the service.
type SigningKey struct {
	Kid         string `json:"kid"`
	Alg         string `json:"alg"`
	Status      string `json:"status"`
	CreatedAt   Time   `json:"created_at"`
	ActivatedAt *Time  `json:"activated_at"`
	RetiresAt   *Time  `json:"retires_at"`
}

// StandingApprovalOpened: A standing approval that waits, with what it waits for.
type StandingApprovalOpened struct {
	StandingApproval standing.View                      `json:"standing_approval"`
	Challenge        *authorization.ChallengeDescriptor `json:"challenge"`
	Hold             *authorization.HoldDescriptor      `json:"hold"`
}

// StandingLink: A short-lived URL that opens the page of a subject's standing approvals.
type StandingLink struct {
	URL       string `json:"url"`
	ExpiresAt Time   `json:"expires_at"`
}

// StoredAlias: A name of a subject, of which the format alone is shown.
type StoredAlias struct {
	Format    string `json:"format"`
	CreatedAt Time   `json:"created_at"`
}

// Subject: A person whose sessions are assessed.
type Subject struct {
	ID               string           `json:"id"`
	Environment      string           `json:"environment"`
	Status           string           `json:"status"`
	Enrollment       string           `json:"enrollment"`
	AdaptationFrozen bool             `json:"adaptation_frozen"`
	ResearchConsent  bool             `json:"research_consent"`
	Passkeys         []PasskeySummary `json:"passkeys"`
	CreatedAt        Time             `json:"created_at"`
	UpdatedAt        Time             `json:"updated_at"`
	RevokedAt        *Time            `json:"revoked_at"`
}

// SubjectAliases: What is stored of the names of a subject.
type SubjectAliases struct {
	Subject string        `json:"subject"`
	Aliases []StoredAlias `json:"aliases"`
}

// SubjectAliasesUpdate: All names of a subject. Names that are left out are removed.
type SubjectAliasesUpdate struct {
	Aliases []alias.Name `json:"aliases"`
}

// SubjectCreate: A new subject. The service assigns an id if none is sent.
type SubjectCreate struct {
	ID string `json:"id"`
}

// SubjectReinstate: A request to end a revocation.
type SubjectReinstate struct {
	Reason string `json:"reason"`
}

// Team: A group of reviewers, which policies name by its key.
type Team struct {
	ID        string       `json:"id"`
	Key       string       `json:"key"`
	Name      string       `json:"name"`
	Members   []TeamMember `json:"members"`
	CreatedAt Time         `json:"created_at"`
}

// TeamCreate: A new team.
type TeamCreate struct {
	Key     string   `json:"key"`
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

// TeamMember: A member of a team.
type TeamMember struct {
	Member  string  `json:"member"`
	Reviews bool    `json:"reviews"`
	Deputy  *string `json:"deputy"`
}

// TeamUpdate: The fields to change. An omitted or null field keeps its value.
type TeamUpdate struct {
	Name    *string   `json:"name"`
	Members *[]string `json:"members"`
}

// Template: One version of a subject's template for a modality and a class of device.
type Template struct {
	ID           string   `json:"id"`
	Modality     string   `json:"modality"`
	DeviceClass  string   `json:"device_class"`
	Version      int      `json:"version"`
	Status       string   `json:"status"`
	Origin       string   `json:"origin"`
	ModelVersion string   `json:"model_version"`
	Provisional  bool     `json:"provisional"`
	Limitations  []string `json:"limitations"`
	CreatedAt    Time     `json:"created_at"`
	UpdatedAt    Time     `json:"updated_at"`
}

// TemplateRollback: The template to roll back.
type TemplateRollback struct {
	Modality    string `json:"modality"`
	DeviceClass string `json:"device_class"`
	Version     *int   `json:"version"`
}

// WebhookAttempt: One attempt to deliver an event.
type WebhookAttempt struct {
	ID             string  `json:"id"`
	Endpoint       string  `json:"endpoint"`
	Event          string  `json:"event"`
	Type           string  `json:"type"`
	Attempt        int     `json:"attempt"`
	Status         string  `json:"status"`
	At             *Time   `json:"at"`
	StatusCode     *int    `json:"status_code"`
	LatencyMS      *int    `json:"latency_ms"`
	ResponseDigest *string `json:"response_digest"`
	Error          *string `json:"error"`
	NextAttemptAt  *Time   `json:"next_attempt_at"`
}

// WebhookEndpoint: A URL that receives events.
type WebhookEndpoint struct {
	ID             string   `json:"id"`
	URL            string   `json:"url"`
	Events         []string `json:"events"`
	Description    *string  `json:"description"`
	Status         string   `json:"status"`
	DisabledReason *string  `json:"disabled_reason"`
	IncludeDetails bool     `json:"include_details"`
	CreatedAt      Time     `json:"created_at"`
	UpdatedAt      Time     `json:"updated_at"`
}

// WebhookEndpointWithSecret: An endpoint with its signing secret, which is shown only once.
type WebhookEndpointWithSecret struct {
	WebhookEndpoint
	Secret string `json:"secret"`
}

// WebhookReplay: The scheduled deliveries.
type WebhookReplay struct {
	Endpoint  string `json:"endpoint"`
	Scheduled int    `json:"scheduled"`
}

// WebhookReplayRequest: The deliveries to repeat; all failed ones by default.
type WebhookReplayRequest struct {
	Since  *Time  `json:"since"`
	Until  *Time  `json:"until"`
	Status string `json:"status"`
	Event  string `json:"event"`
}

// SetDefaults sets the values of what a request omits.
func (v *WebhookReplayRequest) SetDefaults() {
	v.Status = "failed"
}

// WebhookTestResult: The result of a `webhook.test` event.
type WebhookTestResult struct {
	Event      string  `json:"event"`
	Delivered  bool    `json:"delivered"`
	StatusCode *int    `json:"status_code"`
	LatencyMS  int     `json:"latency_ms"`
	Error      *string `json:"error"`
}
