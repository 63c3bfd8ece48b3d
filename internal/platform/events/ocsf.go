package events

// Class is an event class of OCSF 1.8.0. All are of the category Identity & Access Management.
type Class int

// The classes in use, each with the reason for it.
const (
	// ClassAccount: an account of staff is made, enabled or ended.
	ClassAccount Class = 3001
	// ClassAuthentication: staff sign in to the console or out. A decision about a subject is not one: the service does not sign subjects in.
	ClassAuthentication Class = 3002
	// ClassEntity: everything else. What the service decides and stores are records with a life of their own: an authorization, a challenge, a hold.
	ClassEntity Class = 3004
	// ClassAccess: roles of staff are given and withdrawn.
	ClassAccess Class = 3005
	// ClassGroup: teams of reviewers change.
	ClassGroup Class = 3006
)

// ActivityID is an activity_id of a class.
type ActivityID int

// Activities of ClassEntity, and ActivityOther of every class.
const (
	ActivityCreate     ActivityID = 1
	ActivityRead       ActivityID = 2
	ActivityUpdate     ActivityID = 3
	ActivityDelete     ActivityID = 4
	ActivityEnroll     ActivityID = 6
	ActivityEnable     ActivityID = 8
	ActivityActivate   ActivityID = 10
	ActivityDeactivate ActivityID = 11
	ActivityOther      ActivityID = 99
)

// Activities of the other classes.
const (
	AccountCreate ActivityID = 1
	AccountEnable ActivityID = 2
	AccountDelete ActivityID = 6
	SignIn        ActivityID = 1
	SignOut       ActivityID = 2
	// AccessAssign stands for roles that are given; those that are withdrawn are AccessRevoke.
	AccessAssign ActivityID = 1
	AccessRevoke ActivityID = 2
	GroupDelete  ActivityID = 5
	GroupCreate  ActivityID = 6
)

// Severity is a severity_id.
type Severity int

// Severities: what an operator reads later, what they look at when it repeats, soon, and at once.
const (
	Informational Severity = 1
	Low           Severity = 2
	Medium        Severity = 3
	High          Severity = 4
)

// Mapping says how a type of event is shown to a SIEM. Failed is set if the event says that something was refused or went wrong.
type Mapping struct {
	Class    Class
	Activity ActivityID
	Severity Severity
	Failed   bool
}

// MappingOf returns the mapping of a type; false if it has none, which a test finds.
func MappingOf(t Type) (Mapping, bool) {
	m, ok := mappings[t]
	return m, ok
}

func entity(a ActivityID, s Severity) Mapping {
	return Mapping{Class: ClassEntity, Activity: a, Severity: s}
}

func failed(a ActivityID, s Severity) Mapping {
	return Mapping{Class: ClassEntity, Activity: a, Severity: s, Failed: true}
}

// mappings has every type once.
var mappings = map[Type]Mapping{
	PersonInvited:            {Class: ClassAccount, Activity: AccountCreate, Severity: Informational},
	PersonProvisioned:        {Class: ClassAccount, Activity: AccountCreate, Severity: Informational},
	PersonJoined:             {Class: ClassAccount, Activity: AccountEnable, Severity: Informational},
	PersonRevoked:            {Class: ClassAccount, Activity: AccountDelete, Severity: Informational},
	PersonIdentityConfirmed:  {Class: ClassAccount, Activity: ActivityOther, Severity: Informational},
	PersonConfirmationEnded:  {Class: ClassAccount, Activity: ActivityOther, Severity: Low},
	PersonLinked:             {Class: ClassAccount, Activity: ActivityOther, Severity: Low},
	PersonNoticesChosen:      {Class: ClassAccount, Activity: ActivityOther, Severity: Informational},
	PersonAddressChanged:     {Class: ClassAccount, Activity: ActivityOther, Severity: Informational},
	PersonSignedIn:           {Class: ClassAuthentication, Activity: SignIn, Severity: Informational},
	PersonSignedOut:          {Class: ClassAuthentication, Activity: SignOut, Severity: Informational},
	PersonConfirmed:          {Class: ClassAuthentication, Activity: ActivityOther, Severity: Informational},
	PersonSignInFailed:       {Class: ClassAuthentication, Activity: SignIn, Severity: Medium, Failed: true},
	PersonPasskeyCloneWarned: {Class: ClassAuthentication, Activity: ActivityOther, Severity: High, Failed: true},
	PersonRolesChanged:       {Class: ClassAccess, Activity: AccessAssign, Severity: Low},
	PersonManagerSet:         {Class: ClassAccount, Activity: ActivityOther, Severity: Low},
	TeamCreated:              {Class: ClassGroup, Activity: GroupCreate, Severity: Informational},
	TeamUpdated:              {Class: ClassGroup, Activity: ActivityOther, Severity: Low},
	TeamDeleted:              {Class: ClassGroup, Activity: GroupDelete, Severity: Low},

	AuthorizationDecided:   entity(ActivityCreate, Informational),
	AuthenticationDecided:  entity(ActivityCreate, Informational),
	ChallengeRequested:     entity(ActivityCreate, Informational),
	ChallengeCompleted:     entity(ActivityUpdate, Informational),
	ChallengeCancelled:     entity(ActivityUpdate, Informational),
	ChallengeExpired:       failed(ActivityUpdate, Informational),
	ChallengeFailed:        failed(ActivityUpdate, Medium),
	ChallengeLinkCreated:   entity(ActivityCreate, Informational),
	ChallengeLinkOpened:    entity(ActivityRead, Informational),
	ChallengeLinkRefused:   failed(ActivityRead, Low),
	ChallengeAttemptFailed: failed(ActivityUpdate, Low),
	HoldOpened:             entity(ActivityCreate, Low),
	HoldReminder:           entity(ActivityOther, Informational),
	HoldEscalated:          entity(ActivityUpdate, Low),
	HoldApproved:           entity(ActivityUpdate, Informational),
	HoldRejected:           failed(ActivityUpdate, Low),
	HoldExpired:            failed(ActivityUpdate, Low),
	HoldWithdrawn:          entity(ActivityUpdate, Informational),
	HoldStepApproved:       entity(ActivityUpdate, Informational),
	HoldStepOpened:         entity(ActivityUpdate, Informational),
	HoldGlassBroken:        entity(ActivityUpdate, High),
	AfterReviewGiven:       entity(ActivityUpdate, Low),
	AfterReviewOverdue:     failed(ActivityOther, High),
	AfterReviewClosed:      entity(ActivityUpdate, Low),
	StandingRequested:      entity(ActivityCreate, Informational),
	StandingBegun:          entity(ActivityUpdate, Low),
	StandingUsed:           entity(ActivityUpdate, Informational),
	StandingReturned:       entity(ActivityUpdate, Informational),
	StandingEnded:          entity(ActivityDeactivate, Low),
	StandingLinkCreated:    entity(ActivityCreate, Informational),
	StandingLinkOpened:     entity(ActivityRead, Informational),
	StandingLinkRefused:    failed(ActivityRead, Low),
	HoldReviewed:           entity(ActivityUpdate, Informational),
	HoldAssigned:           entity(ActivityUpdate, Informational),
	OutcomeReported:        entity(ActivityUpdate, Informational),
	ProofConsumed:          entity(ActivityUpdate, Informational),
	ProofRevoked:           entity(ActivityDeactivate, Low),
	ProofRead:              entity(ActivityRead, Informational),
	EvaluationCreated:      entity(ActivityCreate, Informational),
	EvaluationClosed:       entity(ActivityUpdate, Informational),

	ChangeRequested:  entity(ActivityCreate, Low),
	ChangeApproved:   entity(ActivityUpdate, Low),
	ChangeRejected:   failed(ActivityUpdate, Low),
	ChangeWithdrawn:  entity(ActivityUpdate, Informational),
	ChangeSuperseded: entity(ActivityUpdate, Informational),
	ChangeExpired:    failed(ActivityUpdate, Informational),

	QuotaNearlyUsed:         entity(ActivityOther, Low),
	TenantCreated:           entity(ActivityCreate, Low),
	TenantRestored:          entity(ActivityCreate, Medium),
	EnvironmentUpgraded:     entity(ActivityUpdate, Medium),
	EnvironmentCreated:      entity(ActivityCreate, Low),
	EnvironmentUpdated:      entity(ActivityUpdate, Medium),
	CredentialCreated:       entity(ActivityCreate, Low),
	CredentialRotated:       entity(ActivityUpdate, Low),
	CredentialRevoked:       entity(ActivityDeactivate, Low),
	ClientTokenCreated:      entity(ActivityCreate, Informational),
	ClientTokenRevoked:      entity(ActivityDeactivate, Informational),
	OperationRefused:        failed(ActivityOther, Medium),
	RecordsRead:             entity(ActivityRead, Medium),
	RecordAltered:           failed(ActivityOther, High),
	RecordsChanged:          entity(ActivityUpdate, Informational),
	IdentityProviderChanged: entity(ActivityUpdate, Medium),
	IdentityProviderRemoved: entity(ActivityDelete, Medium),
	ActionCreated:           entity(ActivityCreate, Low),
	ActionUpdated:           entity(ActivityUpdate, Medium),
	ActionArchived:          entity(ActivityDelete, Medium),
	PolicyCreated:           entity(ActivityCreate, Low),
	PolicyActivated:         entity(ActivityActivate, Medium),
	PolicyRetired:           entity(ActivityDeactivate, Low),
	SigningKeyCreated:       entity(ActivityCreate, Low),
	SigningKeyActivated:     entity(ActivityActivate, Low),
	SigningKeyRetired:       entity(ActivityDeactivate, Low),
	RootKeyUsed:             entity(ActivityRead, Medium),
	DirectoryChanged:        entity(ActivityUpdate, Medium),
	DirectoryRemoved:        entity(ActivityDelete, Medium),
	DirectoryTokenCreated:   entity(ActivityCreate, Medium),
	DirectoryTokenRotated:   entity(ActivityUpdate, Low),
	DirectoryTokenRevoked:   entity(ActivityDelete, Low),
	DirectoryUserLinked:     entity(ActivityUpdate, Medium),
	SignalReceived:          entity(ActivityCreate, Medium),
	SignalStreamChanged:     entity(ActivityUpdate, Medium),
	SignalStreamRemoved:     entity(ActivityDelete, Medium),
	SignalTokenIssued:       entity(ActivityCreate, Medium),
	DestinationChanged:      entity(ActivityUpdate, Medium),
	DestinationRemoved:      entity(ActivityDelete, Medium),
	DestinationCredentials:  entity(ActivityUpdate, Medium),
	DeputyNamed:             entity(ActivityCreate, Low),
	DeputyWithdrawn:         entity(ActivityDelete, Informational),
	ListCreated:             entity(ActivityCreate, Low),
	ListChanged:             entity(ActivityUpdate, Low),
	ListDeleted:             entity(ActivityDelete, Low),
	ListExportStarted:       entity(ActivityRead, Low),
	ListExportEnded:         entity(ActivityRead, Informational),
	HistoryOpened:           entity(ActivityRead, Low),
	FilterSaved:             entity(ActivityCreate, Informational),
	FilterRenamed:           entity(ActivityUpdate, Informational),
	FilterDeleted:           entity(ActivityDelete, Informational),
	ChatAddressCreated:      entity(ActivityCreate, Low),
	ChatAddressDeleted:      entity(ActivityDelete, Informational),

	WebhookTest:             entity(ActivityOther, Informational),
	WebhookFailing:          failed(ActivityOther, Medium),
	WebhookRecovered:        entity(ActivityOther, Informational),
	WebhookDisabled:         failed(ActivityDeactivate, Medium),
	WebhookEndpointCreated:  entity(ActivityCreate, Low),
	WebhookEndpointUpdated:  entity(ActivityUpdate, Low),
	WebhookEndpointDeleted:  entity(ActivityDelete, Low),
	WebhookEndpointEnabled:  entity(ActivityEnable, Low),
	WebhookSecretRotated:    entity(ActivityUpdate, Low),
	WebhookEndpointReplayed: entity(ActivityOther, Low),
	WebhookEndpointTested:   entity(ActivityOther, Informational),
	BackgroundActivated:     entity(ActivityActivate, Low),
	BackgroundLearned:       entity(ActivityCreate, Informational),
	BackgroundOwnActivated:  entity(ActivityActivate, Low),
	BackgroundOwnRefused:    failed(ActivityOther, Low),
	BackgroundOwnRetired:    entity(ActivityDeactivate, Low),
	ResearchVectorsRemoved:  entity(ActivityDelete, Informational),
	ResearchSaltDestroyed:   entity(ActivityDelete, Informational),
	RetentionExecuted:       entity(ActivityDelete, Informational),
	AuditExported:           entity(ActivityRead, Low),

	TrustStateChanged:          entity(ActivityUpdate, Informational),
	SessionAnomaly:             failed(ActivityOther, Medium),
	SessionStarted:             entity(ActivityCreate, Informational),
	SessionEnded:               entity(ActivityUpdate, Informational),
	SessionExpired:             entity(ActivityUpdate, Informational),
	EnrollmentStarted:          entity(ActivityEnroll, Informational),
	EnrollmentRequested:        entity(ActivityEnroll, Informational),
	EnrollmentCompleted:        entity(ActivityEnroll, Informational),
	EnrollmentFailed:           failed(ActivityEnroll, Low),
	RecoveryStarted:            entity(ActivityCreate, Medium),
	RecoveryReady:              entity(ActivityUpdate, Low),
	RecoveryCompleted:          entity(ActivityUpdate, Medium),
	RecoveryExpired:            failed(ActivityUpdate, Low),
	SubjectCreated:             entity(ActivityCreate, Informational),
	SubjectRevoked:             entity(ActivityDeactivate, Low),
	SubjectReinstated:          entity(ActivityActivate, Medium),
	SubjectAdaptationChanged:   entity(ActivityUpdate, Informational),
	SubjectConsentChanged:      entity(ActivityUpdate, Informational),
	SubjectClaimsCapped:        entity(ActivityUpdate, Low),
	SubjectChallengeRequired:   entity(ActivityUpdate, Medium),
	SubjectAliasesChanged:      entity(ActivityUpdate, Low),
	SubjectExported:            entity(ActivityRead, Low),
	SubjectErasureRequested:    entity(ActivityDelete, Low),
	SubjectErased:              entity(ActivityDelete, Low),
	TemplateTrained:            entity(ActivityCreate, Informational),
	TemplateAdapted:            entity(ActivityUpdate, Informational),
	TemplateReset:              entity(ActivityDelete, Low),
	TemplateRolledBack:         entity(ActivityUpdate, Low),
	PasskeyRegistered:          entity(ActivityEnroll, Low),
	PasskeyRevoked:             entity(ActivityDelete, Low),
	PasskeyRegistrationGranted: entity(ActivityCreate, Low),
	PasskeyCloneWarning:        failed(ActivityOther, High),
}
