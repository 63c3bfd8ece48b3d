package problem

import "net/http"

// Code is the stable name of one kind of error. Codes are part of the contract: never rename or reuse one.
type Code string

// The codes in the catalogue. The page /docs/errors shows them with their remedies; the SDKs define the same names.
const (
	MalformedJSON        Code = "malformed_json"
	BadRequest           Code = "bad_request"
	Unauthenticated      Code = "unauthenticated"
	Forbidden            Code = "forbidden"
	InsufficientScope    Code = "insufficient_scope"
	CallerNotAllowed     Code = "caller_not_allowed"
	AudienceNotAllowed   Code = "audience_not_allowed"
	OriginNotAllowed     Code = "origin_not_allowed"
	PurposeNotGranted    Code = "purpose_not_granted"
	ConsentRequired      Code = "consent_required"
	SelfReview           Code = "self_review"
	SandboxOnly          Code = "sandbox_only"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	Conflict             Code = "conflict"
	SubjectExists        Code = "subject_exists"
	SubjectRevoked       Code = "subject_revoked"
	ActionKeyExists      Code = "action_key_exists"
	NoActivePolicy       Code = "no_active_policy"
	NoEarlierTemplate    Code = "no_earlier_template"
	PolicyNotDraft       Code = "policy_not_draft"
	SessionClosed        Code = "session_closed"
	IdempotencyReused    Code = "idempotency_key_reused"
	IdempotencyInFlight  Code = "idempotency_in_flight"
	NonceReplayed        Code = "nonce_replayed"
	ChallengeClosed      Code = "challenge_closed"
	ChallengeExpired     Code = "challenge_expired"
	MethodNotOffered     Code = "method_not_offered"
	NotHeld              Code = "not_held"
	ReviewResolved       Code = "review_resolved"
	ReviewExpired        Code = "review_expired"
	ChangeSettled        Code = "change_settled"
	ChangeExpired        Code = "change_expired"
	ChangeSuperseded     Code = "change_superseded"
	SelfApproval         Code = "self_approval"
	OutcomeConflict      Code = "outcome_conflict"
	AnchorUnavailable    Code = "anchor_unavailable"
	RecoveryInProgress   Code = "recovery_in_progress"
	RecoveryNotReady     Code = "recovery_not_ready"
	EvaluationClosed     Code = "evaluation_closed"
	CredentialRevoked    Code = "credential_revoked"
	RotationInProgress   Code = "rotation_in_progress"
	IssuerChainTooLong   Code = "issuer_chain_too_long"
	EndpointDisabled     Code = "endpoint_disabled"
	GrantInvalid         Code = "grant_invalid"
	RegistrationRefused  Code = "registration_refused"
	PasskeyExists        Code = "passkey_exists"
	AssertionRefused     Code = "assertion_refused"
	AssertionUnknownKey  Code = "assertion_unknown_credential"
	AssertionChallenge   Code = "assertion_challenge_mismatch"
	AssertionOrigin      Code = "assertion_origin_mismatch"
	AssertionRPID        Code = "assertion_rp_id_mismatch"
	AssertionUnverified  Code = "assertion_user_not_verified"
	AssertionSignature   Code = "assertion_signature_invalid"
	AssertionUserHandle  Code = "assertion_user_mismatch"
	AssertionCloned      Code = "assertion_clone_warning"
	AssertionMalformed   Code = "assertion_malformed"
	AssertionDisplay     Code = "assertion_display_changed"
	AssertionBackupFlags Code = "assertion_backup_flags"
	BodyTooLarge         Code = "body_too_large"
	UnsupportedMedia     Code = "unsupported_media_type"
	Unprocessable        Code = "validation_error"
	RateLimited          Code = "rate_limited"
	TooManyStreams       Code = "too_many_streams"
	Internal             Code = "internal_error"
	Unavailable          Code = "unavailable"
)

// Kind is the HTTP status and title of a code (RFC 9457).
type Kind struct {
	Status int
	Title  string
}

// catalogue has an entry for every code; a test requires a remedy for each.
var catalogue = map[Code]Kind{
	MalformedJSON:        {http.StatusBadRequest, "The body is not valid JSON"},
	BadRequest:           {http.StatusBadRequest, "The request cannot be read"},
	Unauthenticated:      {http.StatusUnauthorized, "A valid credential is required"},
	Forbidden:            {http.StatusForbidden, "Not allowed"},
	InsufficientScope:    {http.StatusForbidden, "The credential's scope does not cover this operation"},
	CallerNotAllowed:     {http.StatusForbidden, "This credential may not authorize the action"},
	AudienceNotAllowed:   {http.StatusForbidden, "The audience may not receive proofs of this action"},
	OriginNotAllowed:     {http.StatusForbidden, "The client token is bound to another origin"},
	PurposeNotGranted:    {http.StatusForbidden, "The client token does not grant the purpose of the frame"},
	ConsentRequired:      {http.StatusForbidden, "Consent is required"},
	SelfReview:           {http.StatusForbidden, "The reviewer must not be the requester"},
	SandboxOnly:          {http.StatusForbidden, "Only available in a sandbox environment"},
	NotFound:             {http.StatusNotFound, "Not found"},
	MethodNotAllowed:     {http.StatusMethodNotAllowed, "The method is not allowed on this path"},
	Conflict:             {http.StatusConflict, "The state does not allow this"},
	SubjectExists:        {http.StatusConflict, "A subject with this id exists"},
	SubjectRevoked:       {http.StatusConflict, "The subject is revoked"},
	ActionKeyExists:      {http.StatusConflict, "An action with this key exists"},
	NoActivePolicy:       {http.StatusConflict, "The action has no active policy version"},
	NoEarlierTemplate:    {http.StatusConflict, "There is no earlier version to roll back to"},
	PolicyNotDraft:       {http.StatusConflict, "Only a draft policy version can be activated"},
	SessionClosed:        {http.StatusConflict, "The session is no longer active"},
	IdempotencyReused:    {http.StatusConflict, "The idempotency key was used with another request"},
	IdempotencyInFlight:  {http.StatusConflict, "A request with this idempotency key is still running"},
	NonceReplayed:        {http.StatusConflict, "The nonce was used before"},
	ChallengeClosed:      {http.StatusConflict, "The challenge is no longer open"},
	ChallengeExpired:     {http.StatusConflict, "The challenge has expired"},
	MethodNotOffered:     {http.StatusConflict, "The challenge does not offer this method"},
	NotHeld:              {http.StatusConflict, "The authorization is not held for review"},
	ReviewResolved:       {http.StatusConflict, "The hold is already resolved"},
	ReviewExpired:        {http.StatusConflict, "The hold has expired"},
	ChangeSettled:        {http.StatusConflict, "The change is already settled"},
	ChangeExpired:        {http.StatusConflict, "The change has expired"},
	ChangeSuperseded:     {http.StatusConflict, "The configuration has changed since the request"},
	SelfApproval:         {http.StatusForbidden, "The approver must not be the requester"},
	OutcomeConflict:      {http.StatusConflict, "Another outcome is already recorded"},
	AnchorUnavailable:    {http.StatusConflict, "The recovery anchor is not available for the subject"},
	RecoveryInProgress:   {http.StatusConflict, "A recovery is in progress"},
	RecoveryNotReady:     {http.StatusConflict, "The recovery is still cooling down"},
	EvaluationClosed:     {http.StatusConflict, "The evaluation is closed"},
	CredentialRevoked:    {http.StatusConflict, "The credential is revoked"},
	RotationInProgress:   {http.StatusConflict, "A rotation is still in its overlap"},
	IssuerChainTooLong:   {http.StatusConflict, "Too many keys stand above this key"},
	EndpointDisabled:     {http.StatusConflict, "The webhook endpoint is disabled"},
	GrantInvalid:         {http.StatusForbidden, "The registration grant is not valid"},
	RegistrationRefused:  {http.StatusBadRequest, "The passkey registration was refused"},
	PasskeyExists:        {http.StatusConflict, "The passkey is already registered"},
	AssertionRefused:     {http.StatusBadRequest, "The assertion was refused"},
	AssertionUnknownKey:  {http.StatusBadRequest, "The subject does not have the passkey of this assertion"},
	AssertionChallenge:   {http.StatusBadRequest, "The assertion is for another challenge"},
	AssertionOrigin:      {http.StatusBadRequest, "The assertion was made on another origin"},
	AssertionRPID:        {http.StatusBadRequest, "The assertion was made for another relying party id"},
	AssertionUnverified:  {http.StatusBadRequest, "The authenticator did not verify the user"},
	AssertionSignature:   {http.StatusBadRequest, "The assertion's signature does not verify"},
	AssertionUserHandle:  {http.StatusBadRequest, "The assertion is from another user"},
	AssertionCloned:      {http.StatusBadRequest, "The authenticator's counter did not increase"},
	AssertionMalformed:   {http.StatusBadRequest, "The assertion cannot be read"},
	AssertionDisplay:     {http.StatusBadRequest, "The displayed text is not the signed text"},
	AssertionBackupFlags: {http.StatusBadRequest, "The passkey's backup flags are inconsistent"},
	BodyTooLarge:         {http.StatusRequestEntityTooLarge, "The body is too large"},
	UnsupportedMedia:     {http.StatusUnsupportedMediaType, "The body must be application/json"},
	Unprocessable:        {http.StatusUnprocessableEntity, "The request does not match the API contract"},
	RateLimited:          {http.StatusTooManyRequests, "The quota is used up"},
	TooManyStreams:       {http.StatusTooManyRequests, "The environment has too many event streams"},
	Internal:             {http.StatusInternalServerError, "Something went wrong on our side"},
	Unavailable:          {http.StatusServiceUnavailable, "Temporarily unavailable"},
}

// Of returns the kind of a code; for a code that is not in the catalogue, that of internal_error.
func Of(c Code) Kind {
	if k, ok := catalogue[c]; ok {
		return k
	}
	return catalogue[Internal]
}

// Catalogue returns every code with its kind.
func Catalogue() map[Code]Kind {
	out := make(map[Code]Kind, len(catalogue))
	for c, k := range catalogue {
		out[c] = k
	}
	return out
}
