package events

import "github.com/countersign-dev/countersign/models"

// Types of the events of tenants, credentials, people and configuration.
const (
	QuotaNearlyUsed          Type = "quota.nearly_used"
	TenantCreated            Type = "tenant.created"
	TenantRestored           Type = "tenant.restored"
	EnvironmentUpgraded      Type = "environment.upgraded"
	EnvironmentCreated       Type = "environment.created"
	EnvironmentUpdated       Type = "environment.updated"
	CredentialCreated        Type = "credential.created"
	CredentialRotated        Type = "credential.rotated"
	CredentialRevoked        Type = "credential.revoked"
	ClientTokenCreated       Type = "client_token.created"
	ClientTokenRevoked       Type = "client_token.revoked"
	PersonInvited            Type = "person.invited"
	PersonRolesChanged       Type = "person.roles_changed"
	PersonJoined             Type = "person.joined"
	PersonSignedIn           Type = "person.signed_in"
	PersonConfirmed          Type = "person.confirmed"
	PersonSignedOut          Type = "person.signed_out"
	PersonRevoked            Type = "person.revoked"
	PersonPasskeyCloneWarned Type = "person.clone_warning"
	PersonProvisioned        Type = "person.provisioned"
	PersonIdentityConfirmed  Type = "person.identity_confirmed"
	PersonConfirmationEnded  Type = "person.confirmation_ended"
	PersonLinked             Type = "person.linked"
	PersonManagerSet         Type = "person.manager_set"
	PersonSignInFailed       Type = "person.sign_in_failed"
	OperationRefused         Type = "operation.refused"
	RecordsRead              Type = "records.read"
	RecordAltered            Type = "record.altered"
	RecordsChanged           Type = "records.changed"
	IdentityProviderChanged  Type = "identity_provider.changed"
	IdentityProviderRemoved  Type = "identity_provider.removed"
	ActionCreated            Type = "action.created"
	ActionUpdated            Type = "action.updated"
	ActionArchived           Type = "action.archived"
	PolicyCreated            Type = "policy.created"
	PolicyActivated          Type = "policy.activated"
	PolicyRetired            Type = "policy.retired"
	SigningKeyCreated        Type = "signing_key.created"
	SigningKeyActivated      Type = "signing_key.activated"
	SigningKeyRetired        Type = "signing_key.retired"
	RootKeyUsed              Type = "root_key.used"
)

// TenantCreatedData has no fields: the envelope says it all.
type TenantCreatedData struct{}

// TenantRestoredData says when the tenant had been deleted, and by whom. It is empty in another database than that of the deletion.
type TenantRestoredData struct {
	DeletedAt string `json:"deleted_at,omitempty"`
	DeletedBy string `json:"deleted_by,omitempty"`
}

// EnvironmentUpgradedData says from which version on rows without a MAC are refused.
type EnvironmentUpgradedData struct {
	From string `json:"from"`
}

// EnvironmentCreatedData has no fields.
type EnvironmentCreatedData struct{}

// EnvironmentSettingsChangedData has the settings of an environment after the change. Its type is environment.updated, as
// that of the two structs that follow.
type EnvironmentSettingsChangedData struct {
	models.Settings
	// The rules of passkeys, if they are set. Attestation has the digests of the trusted certificates.
	RPIDs          []string `json:"rp_ids,omitempty"`
	RelatedOrigins []string `json:"related_origins,omitempty"`
	Attestation    []string `json:"attestation_roots,omitempty"`
	AAGUIDs        []string `json:"aaguids,omitempty"`
	// The brand of the hosted pages, if it is set; of the logo only its SHA-256 in hex.
	BrandName     string `json:"brand_name,omitempty"`
	BrandAccent   string `json:"brand_accent,omitempty"`
	BrandLanguage string `json:"brand_language,omitempty"`
	BrandLogo     string `json:"brand_logo,omitempty"`
}

// EnvironmentCeilingChangedData has the most requests an hour that a key may be given, and the quota of all servers together if it
// is set; null is the default.
type EnvironmentCeilingChangedData struct {
	RateLimitCeiling *int `json:"rate_limit_ceiling"`
	RateLimit        *int `json:"rate_limit,omitempty"`
}

// EnvironmentRPIDsGivenData has the RP IDs that the environment's tenant may use.
type EnvironmentRPIDsGivenData struct {
	GivenRPIDs []string `json:"given_rp_ids"`
}

// EnvironmentResearchChangedData says whether research vectors are stored.
type EnvironmentResearchChangedData struct {
	ResearchEnabled bool `json:"research_enabled"`
	Change
}

// CredentialCreatedData names an API key, never its secret. It has permissions only if the key is limited to some of its scope.
type CredentialCreatedData struct {
	Credential  string   `json:"credential"`
	Scope       string   `json:"scope"`
	Permissions []string `json:"permissions,omitempty"`
}

// CredentialRotatedData has the fields of CredentialCreatedData.
type CredentialRotatedData CredentialCreatedData

// CredentialRevokedData has a cause if the key ended with its source: the person or the key that it rested on. Given are the keys that
// rested on it and were given to another issuer instead of ending with it.
type CredentialRevokedData struct {
	CredentialCreatedData
	Cause   string   `json:"cause,omitempty"`
	Source  string   `json:"source,omitempty"`
	Given   []string `json:"given,omitempty"`
	GivenTo string   `json:"given_to,omitempty"`
}

// QuotaNearlyUsedData names a quota, of which most is used: key, servers or clients. Credential is the key whose quota it is.
type QuotaNearlyUsedData struct {
	Quota       string `json:"quota"`
	Credential  string `json:"credential,omitempty"`
	Limit       int    `json:"limit"` // requests an hour
	UsedPercent int    `json:"used_percent"`
}

// ClientTokenCreatedData has purposes and a session only if the token is limited to them.
type ClientTokenCreatedData struct {
	ClientToken string   `json:"client_token"`
	Origin      string   `json:"origin" schema:"empty"`
	Purposes    []string `json:"purposes,omitempty"`
	Session     string   `json:"session,omitempty"`
}

// ClientTokenRevokedData counts the tokens of a subject that were revoked.
type ClientTokenRevokedData struct {
	Revoked int    `json:"revoked"`
	Reason  string `json:"reason"`
}

// PersonInvitedData names the invitation, never its token.
type PersonInvitedData struct {
	Person     string `json:"person"`
	Invitation string `json:"invitation"`
	Mailed     bool   `json:"mailed,omitempty"` // the link goes to the address that the actor chose, and was shown to no one
}

// PersonJoinedData names the passkey that the invited person registered.
type PersonJoinedData struct {
	Person     string `json:"person"`
	Passkey    string `json:"passkey"`
	Invitation string `json:"invitation"`
}

// PersonRolesChangedData has either the roles granted or those withdrawn.
type PersonRolesChangedData struct {
	Person    string   `json:"person"`
	Granted   []string `json:"granted,omitempty"`
	Withdrawn []string `json:"withdrawn,omitempty"`
}

// PersonSignedInData names the console session and the passkey or the identity provider it began with.
type PersonSignedInData struct {
	Person           string `json:"person"`
	Session          string `json:"session"`
	Passkey          string `json:"passkey,omitempty"`
	IdentityProvider string `json:"identity_provider,omitempty"`
}

// PersonProvisionedData names the identity provider that signs the person in, never their account there. It is empty for a person of a directory who
// signs in with a passkey.
type PersonProvisionedData struct {
	Person           string `json:"person"`
	IdentityProvider string `json:"identity_provider,omitempty"`
}

// PersonIdentityConfirmedData names the person whom the actor knows, and those who could have been the account before.
type PersonIdentityConfirmedData struct {
	Person  string   `json:"person"`
	ShownTo []string `json:"shown_to,omitempty"`
	// MailedBy are those whom version 1.0 stored apart, because they chose an address that a link was mailed to.
	MailedBy []string `json:"mailed_by,omitempty"`
}

// PersonConfirmationEndedData names the person who is no longer confirmed.
type PersonConfirmationEndedData struct {
	Person string `json:"person"`
}

// PersonManagerSetData names a person and their manager from now on; empty for none.
type PersonManagerSetData struct {
	Person  string `json:"person"`
	Manager string `json:"manager,omitempty"`
}

// PersonLinkedData names both accounts, the principal that they count as from now on, and the keys that count as it too.
type PersonLinkedData struct {
	Person      string   `json:"person"`
	Other       string   `json:"other"`
	Principal   string   `json:"principal"`
	Credentials []string `json:"credentials,omitempty"`
}

// PersonSignInFailedData counts failed sign-ins of one kind: by the person, if one was identified, or with the identity provider. Code is
// that of the problem, and Reason says why the identity provider's response was refused.
type PersonSignInFailedData struct {
	Person           string `json:"person,omitempty"`
	IdentityProvider string `json:"identity_provider,omitempty"`
	Code             string `json:"code"`
	Reason           string `json:"reason,omitempty"`
	Count            int    `json:"count"`
}

// OperationRefusedData counts the requests for one operation that one code refused. Operation is the contract's operationId or the
// name of the console's route.
type OperationRefusedData struct {
	Operation string `json:"operation"`
	Code      string `json:"code"`
	Count     int    `json:"count"`
}

// RecordsReadData counts the records about people that a key read with one operation, a list or the event stream.
type RecordsReadData struct {
	Operation string `json:"operation"`
	Count     int    `json:"count"`
}

// RecordAlteredData names a row that decides what the service allows and that was changed outside of the service.
type RecordAlteredData struct {
	Table  string `json:"table"`
	Record string `json:"record"`
}

// RecordsChangedData has the state of rows that decide what the service allows, after a change: of each its table, its id and a digest of the
// columns that decide, or deleted, separated by spaces.
type RecordsChangedData struct {
	Records []string `json:"records"`
}

// IdentityProviderChangedData has the settings after the change, never the client secret. Groups are those that give roles in the
// environment, such as "payments-leads: reviewer, auditor".
type IdentityProviderChangedData struct {
	IdentityProvider string   `json:"identity_provider"`
	Name             string   `json:"name"`
	Issuer           string   `json:"issuer"`
	ClientID         string   `json:"client_id"`
	SecretChanged    bool     `json:"secret_changed"`
	Scopes           []string `json:"scopes"`
	GroupsClaim      string   `json:"groups_claim"`
	Groups           []string `json:"groups,omitempty"`
	Listed           bool     `json:"listed"`
}

// IdentityProviderRemovedData names the provider; its people lost their roles.
type IdentityProviderRemovedData struct {
	IdentityProvider string `json:"identity_provider"`
}

// PersonConfirmedData names the console session in which the person used their passkey again.
type PersonConfirmedData struct {
	Session string `json:"session"`
	Passkey string `json:"passkey"`
}

// PersonSignedOutData names the console session that ended.
type PersonSignedOutData struct {
	Person  string `json:"person"`
	Session string `json:"session"`
}

// PersonRevokedData names the person whose access ended.
type PersonRevokedData struct {
	Person string `json:"person"`
}

// PersonPasskeyCloneWarnedData names the passkey whose counter did not increase.
type PersonPasskeyCloneWarnedData struct {
	Person  string `json:"person"`
	Passkey string `json:"passkey"`
}

// ActionCreatedData has the mode that the action starts in.
type ActionCreatedData struct {
	ActionID string `json:"action_id"`
	Mode     string `json:"mode"`
}

// ActionUpdatedData has the mode before and after the change.
type ActionUpdatedData struct {
	ActionID   string `json:"action_id"`
	Mode       string `json:"mode"`
	ModeBefore string `json:"mode_before"`
	Change
}

// ActionArchivedData names the archived action.
type ActionArchivedData struct {
	ActionID string `json:"action_id"`
}

// PolicyCreatedData names a policy version. ContentHash covers everything the version requires.
type PolicyCreatedData struct {
	ActionID    string `json:"action_id"`
	Version     int    `json:"version"`
	ContentHash string `json:"content_hash"`
}

// PolicyActivatedData has the fields of PolicyCreatedData.
type PolicyActivatedData PolicyCreatedData

// PolicyRetiredData has the fields of PolicyCreatedData.
type PolicyRetiredData PolicyCreatedData

// SigningKeyCreatedData has the key id (kid) as published in the key set, and the backend that has the private key, such as software.
type SigningKeyCreatedData struct {
	KID     string `json:"kid"`
	Backend string `json:"backend"`
}

// SigningKeyActivatedData has the fields of SigningKeyCreatedData.
type SigningKeyActivatedData SigningKeyCreatedData

// SigningKeyRetiredData has the fields of SigningKeyCreatedData.
type SigningKeyRetiredData SigningKeyCreatedData

// RootKeyUsedData has the names of the root key and of the active master key.
type RootKeyUsedData struct {
	RootKey   string `json:"root_key"`
	MasterKey string `json:"master_key"`
}

func (TenantCreatedData) EventType() Type              { return TenantCreated }
func (TenantRestoredData) EventType() Type             { return TenantRestored }
func (EnvironmentUpgradedData) EventType() Type        { return EnvironmentUpgraded }
func (EnvironmentCreatedData) EventType() Type         { return EnvironmentCreated }
func (EnvironmentSettingsChangedData) EventType() Type { return EnvironmentUpdated }
func (EnvironmentCeilingChangedData) EventType() Type  { return EnvironmentUpdated }
func (EnvironmentRPIDsGivenData) EventType() Type      { return EnvironmentUpdated }
func (EnvironmentResearchChangedData) EventType() Type { return EnvironmentUpdated }
func (CredentialCreatedData) EventType() Type          { return CredentialCreated }
func (CredentialRotatedData) EventType() Type          { return CredentialRotated }
func (CredentialRevokedData) EventType() Type          { return CredentialRevoked }
func (QuotaNearlyUsedData) EventType() Type            { return QuotaNearlyUsed }
func (ClientTokenCreatedData) EventType() Type         { return ClientTokenCreated }
func (ClientTokenRevokedData) EventType() Type         { return ClientTokenRevoked }
func (PersonInvitedData) EventType() Type              { return PersonInvited }
func (PersonJoinedData) EventType() Type               { return PersonJoined }
func (PersonRolesChangedData) EventType() Type         { return PersonRolesChanged }
func (PersonSignedInData) EventType() Type             { return PersonSignedIn }
func (PersonConfirmedData) EventType() Type            { return PersonConfirmed }
func (PersonSignedOutData) EventType() Type            { return PersonSignedOut }
func (PersonRevokedData) EventType() Type              { return PersonRevoked }
func (PersonProvisionedData) EventType() Type          { return PersonProvisioned }
func (PersonIdentityConfirmedData) EventType() Type    { return PersonIdentityConfirmed }
func (PersonConfirmationEndedData) EventType() Type    { return PersonConfirmationEnded }
func (PersonLinkedData) EventType() Type               { return PersonLinked }
func (PersonManagerSetData) EventType() Type           { return PersonManagerSet }
func (PersonSignInFailedData) EventType() Type         { return PersonSignInFailed }
func (OperationRefusedData) EventType() Type           { return OperationRefused }
func (RecordsReadData) EventType() Type                { return RecordsRead }
func (RecordAlteredData) EventType() Type              { return RecordAltered }
func (RecordsChangedData) EventType() Type             { return RecordsChanged }
func (IdentityProviderChangedData) EventType() Type    { return IdentityProviderChanged }
func (IdentityProviderRemovedData) EventType() Type    { return IdentityProviderRemoved }
func (PersonPasskeyCloneWarnedData) EventType() Type   { return PersonPasskeyCloneWarned }
func (ActionCreatedData) EventType() Type              { return ActionCreated }
func (ActionUpdatedData) EventType() Type              { return ActionUpdated }
func (ActionArchivedData) EventType() Type             { return ActionArchived }
func (PolicyCreatedData) EventType() Type              { return PolicyCreated }
func (PolicyActivatedData) EventType() Type            { return PolicyActivated }
func (PolicyRetiredData) EventType() Type              { return PolicyRetired }
func (SigningKeyCreatedData) EventType() Type          { return SigningKeyCreated }
func (SigningKeyActivatedData) EventType() Type        { return SigningKeyActivated }
func (SigningKeyRetiredData) EventType() Type          { return SigningKeyRetired }
func (RootKeyUsedData) EventType() Type                { return RootKeyUsed }

var accountEvents = []Definition{
	public(QuotaNearlyUsedData{}, "A key, or the environment's servers or browsers, used 80 % of their quota. It is recorded again only after half of the quota was free.",
		map[string]any{"quota": "servers", "limit": 10000, "used_percent": 80}),
	audit("A tenant was created.", TenantCreatedData{}),
	audit("A deleted tenant was copied back from a backup.", TenantRestoredData{}),
	audit("An upgrade was finished: rows of the earlier version were signed, and rows without a MAC are refused.", EnvironmentUpgradedData{}),
	audit("An environment was created.", EnvironmentCreatedData{}),
	audit("An environment's settings changed.", EnvironmentSettingsChangedData{}, EnvironmentCeilingChangedData{}, EnvironmentRPIDsGivenData{}, EnvironmentResearchChangedData{}),
	audit("A credential was issued.", CredentialCreatedData{}),
	audit("A credential got a new key.", CredentialRotatedData{}),
	audit("A credential was revoked.", CredentialRevokedData{}),
	audit("A client token was issued.", ClientTokenCreatedData{}),
	audit("A client token was revoked.", ClientTokenRevokedData{}),
	audit("A person was invited to register a passkey for the console.", PersonInvitedData{}),
	audit("A person's roles in the environment changed.", PersonRolesChangedData{}),
	audit("A person registered a passkey for the console.", PersonJoinedData{}),
	audit("A person signed in to the console.", PersonSignedInData{}),
	audit("A person used their passkey again before a change.", PersonConfirmedData{}),
	audit("A person signed out of the console.", PersonSignedOutData{}),
	audit("A person's access to the console was ended.", PersonRevokedData{}),
	audit("The signature counter of a person's authenticator decreased: it may be cloned.", PersonPasskeyCloneWarnedData{}),
	audit("A person signed in with the identity provider for the first time, or the directory provisioned them.", PersonProvisionedData{}),
	audit("A second operator confirmed who has an invited account.", PersonIdentityConfirmedData{}),
	audit("A person is no longer confirmed: someone saw a new link of theirs, or the person who confirmed them lost the authority to do so.", PersonConfirmationEndedData{}),
	audit("Two accounts of one person were linked and count as one principal.", PersonLinkedData{}),
	audit("The manager of a person was recorded, or removed.", PersonManagerSetData{}),
	audit("Sign-ins to the console failed; count is how many of this kind since the entry before.", PersonSignInFailedData{}),
	audit("Operations were refused to the actor; count is how many of this kind since the entry before.", OperationRefusedData{}),
	audit("A key read many records about people; count is how many since the entry before.", RecordsReadData{}),
	audit("A stored record that decides was changed outside of the service; what rests on it is refused.", RecordAlteredData{}),
	audit("Rows that decide what the service allows were changed.", RecordsChangedData{}),
	audit("The settings of an identity provider of the console changed.", IdentityProviderChangedData{}),
	audit("An identity provider of the console was removed.", IdentityProviderRemovedData{}),
	audit("An action was created.", ActionCreatedData{}),
	audit("An action changed.", ActionUpdatedData{}),
	audit("An action was archived.", ActionArchivedData{}),
	audit("A policy version was created.", PolicyCreatedData{}),
	audit("A policy version was activated.", PolicyActivatedData{}),
	audit("A policy version was retired.", PolicyRetiredData{}),
	audit("A signing key was created and published.", SigningKeyCreatedData{}),
	audit("A signing key began to sign.", SigningKeyActivatedData{}),
	audit("A signing key was retired.", SigningKeyRetiredData{}),
	audit("A process or command had the root key unwrap the master keys.", RootKeyUsedData{}),
}
