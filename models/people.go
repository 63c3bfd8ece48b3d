package models

import (
	"slices"
	"strings"
	"time"
)

// Role is a set of permissions of a person in one environment.
type Role string

// Roles. No role includes another: a person who reviews and operates has two.
const (
	RoleReviewer Role = "reviewer"
	RoleOperator Role = "operator"
	RoleAuditor  Role = "auditor"
)

// Permissions returns what a person with the role may do in the console: what an API key with the same permissions may do. An
// auditor sees everything and changes nothing.
func (r Role) Permissions() Permissions {
	switch r {
	case RoleReviewer:
		return Permissions{PermissionDecisionsRead, PermissionReview}
	case RoleOperator:
		return Permissions{
			PermissionPolicyWrite, PermissionPolicyActivate, PermissionEvaluations, PermissionConfigRead, PermissionConfig, PermissionWebhooks,
			PermissionCredentials,
		}
	case RoleAuditor:
		return Permissions{PermissionDecisionsRead, PermissionConfigRead, PermissionAudit}
	default:
		return Permissions{}
	}
}

// Issuable returns the permissions that a person with these roles may give a key: those that no role has, because they are for
// programs, and those of their own roles. A person cannot approve with a key what they may not approve themselves.
func Issuable(own []Role) Permissions {
	out := Permissions{}
	for _, x := range AllPermissions {
		staff, mine := false, false
		for _, r := range []Role{RoleReviewer, RoleOperator, RoleAuditor} {
			staff = staff || r.Permissions().Has(x)
			mine = mine || slices.Contains(own, r) && r.Permissions().Has(x)
		}
		if mine || !staff {
			out = append(out, x)
		}
	}
	return out
}

// Person uses the console for one tenant. JoinedAt is when they registered their first passkey.
type Person struct {
	ID         string `gorm:"primaryKey"`
	TenantID   string
	Name       string
	CreatedAt  time.Time
	CreatedBy  string
	JoinedAt   *time.Time
	RevokedAt  *time.Time
	RevokedBy  *string
	SignedInAt *time.Time // of a person of an identity provider: their last sign-in
	// IdentityProviderID and ProviderSubject are set for a person whom an identity provider signs in.
	IdentityProviderID *string
	ProviderSubject    *string
	// ConfirmedAt is since when the account is known to be of a person of its own; nil if only those whom MayBe lists say so.
	ConfirmedAt *time.Time
	// ConfirmedBy is who knows the person: a member of staff, the command line, or an identity provider (see ProviderConfirms).
	ConfirmedBy *string
	// MayBe lists who may be the account until it is confirmed: those who saw a link that registered a passkey of it or chose the address that
	// it was mailed to, and everyone who may be one of them.
	MayBe Strings `gorm:"column:shown_to"`
	// MailedBy is the part of MayBe that version 1.0 stored apart. It is no longer written.
	MailedBy Strings
	// Principal is whom the account counts as, if it is linked with another account of the same person; nil for itself.
	Principal *string
	RowMAC    []byte `gorm:"column:row_mac"` // see pg.Table
}

// CountsAs returns the principal of the person.
func (p Person) CountsAs() string {
	if p.Principal != nil {
		return *p.Principal
	}
	return "person:" + p.ID
}

// ProviderConfirms begins ConfirmedBy of a person whom only an identity provider confirms. It knows its own accounts apart, but not from
// those that came to the tenant in a different way.
const ProviderConfirms = "identity_provider:"

// ConfirmedByProvider reports whether only an identity provider says that the account is of a person of its own.
func (p Person) ConfirmedByProvider() bool {
	return p.ConfirmedAt != nil && p.ConfirmedBy != nil && strings.HasPrefix(*p.ConfirmedBy, ProviderConfirms)
}

// Federated reports whether an identity provider signs the person in. Their passkey only confirms changes.
func (p Person) Federated() bool { return p.IdentityProviderID != nil }

// PersonPosition is a person's place in the company, as its directory says.
type PersonPosition struct {
	PersonID   string `gorm:"primaryKey"`
	TenantID   string
	ManagerID  *string // a person of the tenant
	Department *string
	ChangedAt  time.Time
	RowMAC     []byte `gorm:"column:row_mac"` // see pg.Table
}

// PersonRole is one role of a person in one environment.
type PersonRole struct {
	PersonID      string `gorm:"primaryKey"`
	EnvironmentID string `gorm:"primaryKey"`
	Role          Role   `gorm:"primaryKey"`
	GrantedAt     time.Time
	GrantedBy     string
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

// PersonPasskey is a WebAuthn credential of a person.
type PersonPasskey struct {
	ID              string `gorm:"primaryKey"`
	PersonID        string
	CredentialID    []byte
	PublicKey       []byte
	AttestationType string
	AAGUID          []byte `gorm:"column:aaguid"`
	Transports      Strings
	SignCount       int64
	BackupEligible  bool
	BackupState     bool
	CloneWarning    bool
	CreatedAt       time.Time
	LastUsedAt      *time.Time
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}

// PersonInvitation lets a person register one passkey, once.
type PersonInvitation struct {
	ID        string `gorm:"primaryKey"`
	MAC       []byte `gorm:"column:mac"` // of the link; nil until it is mailed
	Mailed    bool
	PersonID  string
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time
	UsedAt    *time.Time
	RowMAC    []byte `gorm:"column:row_mac"` // see pg.Table
}

// ConsoleSession is the session of a person who signed in. ConfirmedAt is when they last used their passkey.
type ConsoleSession struct {
	MAC         []byte `gorm:"column:mac;primaryKey"`
	ID          string
	PersonID    string
	Ceremony    []byte // the sign-in that opened the session
	Confirming  []byte // the ceremony that may confirm the session next; nil if there is none
	CreatedAt   time.Time
	ConfirmedAt time.Time
	LastSeenAt  time.Time
	ExpiresAt   time.Time
	EndedAt     *time.Time
	// IdentityProviderID and ProviderSession are set if an identity provider signed the person in; the latter is the
	// provider's own name of its session (sid), if it has one.
	IdentityProviderID *string
	ProviderSession    *string
	RowMAC             []byte `gorm:"column:row_mac"` // see pg.Table
}
