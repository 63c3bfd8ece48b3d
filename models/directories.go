package models

import "time"

// Directory is the company's directory that provisions a tenant's staff by SCIM.
type Directory struct {
	TenantID string `gorm:"primaryKey"`
	// IdentityProviderID is the provider whose subjects are the external ids of users and whose groups give roles; nil for none.
	IdentityProviderID *string
	Grants             JSON // of []ProviderGrant, without an identity provider
	Required           bool // only people of the directory sign in with the identity provider
	UpdatedAt          time.Time
	RowMAC             []byte `gorm:"column:row_mac"` // see pg.Table
}

// DirectoryToken authenticates a directory. ExpiresAt is set once it was rotated.
type DirectoryToken struct {
	ID         string `gorm:"primaryKey"`
	TenantID   string
	MAC        []byte `gorm:"column:mac"`
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
	RowMAC     []byte `gorm:"column:row_mac"` // see pg.Table
}

// DirectoryUser is a user as the directory sent it. The person exists from the first role on.
type DirectoryUser struct {
	ID         string `gorm:"primaryKey"`
	TenantID   string
	ExternalID *string
	UserName   string
	Attributes JSON // of DirectoryAttributes
	Active     bool
	Manager    *string // id of a user
	PersonID   *string // the newest person; revoked ones too
	Linked     bool    // an administrator linked the user with the person
	Revision   int64   // of the ETag
	CreatedAt  time.Time
	UpdatedAt  time.Time
	DeletedAt  *time.Time
	RowMAC     []byte `gorm:"column:row_mac"` // see pg.Table
}

// DirectoryAttributes are the attributes of a user that only describe.
type DirectoryAttributes struct {
	DisplayName string `json:"display_name,omitempty"`
	Formatted   string `json:"formatted,omitempty"`
	GivenName   string `json:"given_name,omitempty"`
	FamilyName  string `json:"family_name,omitempty"`
	Department  string `json:"department,omitempty"`
}

// DirectoryGroup is a group as the directory sent it.
type DirectoryGroup struct {
	ID          string `gorm:"primaryKey"`
	TenantID    string
	ExternalID  *string
	DisplayName string
	Revision    int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
	RowMAC      []byte `gorm:"column:row_mac"` // see pg.Table
}

// DirectoryMember is a user's membership of a group.
type DirectoryMember struct {
	GroupID  string `gorm:"primaryKey"`
	UserID   string `gorm:"primaryKey"`
	TenantID string
	RowMAC   []byte `gorm:"column:row_mac"` // see pg.Table
}
