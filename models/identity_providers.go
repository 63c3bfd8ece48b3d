package models

import (
	"encoding/json"
	"time"
)

// IdentityProvider is an OpenID Connect provider with which the staff of a tenant sign in to the console. ClientSecret is sealed;
// it is nil once the provider was removed.
type IdentityProvider struct {
	ID           string `gorm:"primaryKey"`
	TenantID     string
	Name         string // in URLs, unique within the tenant
	Label        string // on the sign-in page
	Issuer       string
	ClientID     string
	ClientSecret []byte
	Scopes       Strings
	GroupsClaim  string
	Grants       JSON // of []ProviderGrant
	Listed       bool // on the sign-in page of the console, which all tenants share
	CreatedAt    time.Time
	UpdatedAt    time.Time
	RemovedAt    *time.Time
	RowMAC       []byte `gorm:"column:row_mac"` // see pg.Table
}

// GroupGrants returns Grants.
func (p IdentityProvider) GroupGrants() (grants []ProviderGrant, err error) {
	err = json.Unmarshal(p.Grants, &grants)
	return grants, err
}

// ProviderGrant gives the members of a provider's group roles in an environment of the tenant, and makes those whom a directory provisions members
// of teams.
type ProviderGrant struct {
	Group       string   `json:"group"`
	Environment string   `json:"environment"`
	Roles       []Role   `json:"roles"`
	Teams       []string `json:"teams,omitempty"` // keys
}

// ProviderLogout is a logout token that was accepted.
type ProviderLogout struct {
	IdentityProviderID string `gorm:"primaryKey"`
	TokenDigest        []byte `gorm:"primaryKey"` // SHA-256 of the token's jti
	ExpiresAt          time.Time
}
