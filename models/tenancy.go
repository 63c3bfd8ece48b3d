package models

import "time"

// Tenant is a customer.
type Tenant struct {
	ID        string `gorm:"primaryKey"`
	Name      string
	CreatedAt time.Time
}

// DeletedTenant says when a tenant was deleted, and by whom.
type DeletedTenant struct {
	ID        string `gorm:"primaryKey"`
	DeletedAt time.Time
	DeletedBy string
}

// Environment is the sandbox or the live environment of a tenant. They share no data.
type Environment struct {
	ID       string `gorm:"primaryKey"`
	TenantID string
	Kind     EnvironmentKind
	RPID     string `gorm:"column:rp_id"`
	Settings
	ResearchEnabled  bool
	RateLimit        *int  // requests an hour of all server keys together; nil is the limit of the largest
	RateLimitCeiling *int  // highest quota of a key, in requests an hour; nil is the default of the kind
	Brand            Brand `gorm:"-"` // only where Environments().Branded read the environment
	// Passkeys is read where Brand is, and by Environments().PasskeyRules.
	Passkeys  PasskeyRules `gorm:"-"`
	CreatedAt time.Time
	RowMAC    []byte `gorm:"column:row_mac"` // see pg.Table
}

// Brand is the look of an environment's hosted pages. Empty fields are not set.
type Brand struct {
	Name     string
	Accent   string // such as #0f5c5c
	Language string // of users whose languages the pages do not have
	Logo     []byte // PNG
}

// Credential is an API key's identity; its keys are CredentialKey rows.
type Credential struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Scope         Scope
	Permissions   Permissions // within the scope; fixed at creation
	Name          string
	Preview       string
	RateLimit     *int // requests an hour; nil is the default of the environment's kind
	CreatedAt     time.Time
	CreatedBy     string
	// Principal is who the credential counts as wherever people are counted: the person who issued it or its first issuer, or itself.
	Principal string
	// Issuers are the ids of the credentials that its authority rests on: the first issuer first, the direct one last.
	Issuers Strings
	// FormerPrincipal is set for a credential that was given to an issuer of a different principal. It may request but not approve.
	FormerPrincipal *string
	ExpiresAt       *time.Time
	LapsesAt        *time.Time // of a person of an identity provider: when it ends if they do not sign in again
	LastUsedAt      *time.Time
	RevokedAt       *time.Time
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}

// IssuedBy returns the actor whose authority the credential rests on: the credential that issued it or was given it, or else its creator.
func (c Credential) IssuedBy() string {
	if n := len(c.Issuers); n > 0 {
		return "credential:" + c.Issuers[n-1]
	}
	return c.CreatedBy
}

// End returns when the credential ends by itself, as the column ends_at does: the earlier of ExpiresAt and LapsesAt. Nil is never.
func (c Credential) End() *time.Time {
	if c.ExpiresAt == nil || c.LapsesAt != nil && c.LapsesAt.Before(*c.ExpiresAt) {
		return c.LapsesAt
	}
	return c.ExpiresAt
}

// Lives reports whether the credential has neither been revoked nor ended at a time.
func (c Credential) Lives(at time.Time) bool {
	end := c.End()
	return c.RevokedAt == nil && (end == nil || at.Before(*end))
}

// CredentialKey is the MAC of one key. During a rotation a credential has two.
type CredentialKey struct {
	MAC          []byte `gorm:"column:mac;primaryKey"`
	CredentialID string
	CreatedAt    time.Time
	ExpiresAt    *time.Time
	RowMAC       []byte `gorm:"column:row_mac"` // see pg.Table
}

// ClientToken lets a browser submit evidence for one subject from one origin.
type ClientToken struct {
	MAC           []byte `gorm:"column:mac;primaryKey"`
	ID            string
	TenantID      string
	EnvironmentID string
	CredentialID  string
	SubjectUID    string `gorm:"column:subject_uid"`
	Origin        string
	Purposes      Strings // permitted purposes of frames; empty permits all
	SessionID     *string // nil permits every session of the subject
	CreatedAt     time.Time
	ExpiresAt     time.Time
	RevokedAt     *time.Time
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

// IdempotencyKey is the stored response to a request with the header Idempotency-Key. Status is nil while the request runs.
type IdempotencyKey struct {
	EnvironmentID string
	CredentialID  string `gorm:"primaryKey"`
	Key           string `gorm:"primaryKey"`
	Operation     string
	RequestHash   []byte
	Status        *int
	Headers       JSON
	Body          []byte
	CreatedAt     time.Time
}

// MasterKey is the fingerprint of a master key that sealed rows of this database. The key itself is in no table.
type MasterKey struct {
	ID          string `gorm:"primaryKey"` // hex, as in the header of sealed values
	Fingerprint []byte
	RecordedAt  time.Time
	RetiredAt   *time.Time
}
