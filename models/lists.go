package models

import "time"

// ListKind says what the entries of a list are, and how a value is compared with them.
type ListKind string

// The kinds of lists. A personal list is of kind text.
const (
	ListText       ListKind = "text"        // the whole value
	ListCountry    ListKind = "country"     // two letters of ISO 3166-1
	ListIBANPrefix ListKind = "iban_prefix" // the beginning of an IBAN
)

// List is a named list of values that rules read.
type List struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string `gorm:"primaryKey"`
	Name          string
	Kind          ListKind
	Personal      bool
	Description   string
	Secret        []byte // of a personal list: the key of its digests, sealed
	Version       int    // counts the changes of the entries, from 1
	Entries       int    // their number after the last change
	EntriesSum    []byte // of the digests of their rows (pg.AddToSetDigest)
	CreatedAt     time.Time
	CreatedBy     string
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

// ListEntry is one value of a list.
type ListEntry struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string `gorm:"primaryKey"`
	ListID        string
	Key           string  // the normal form of the value, or its digest in a personal list
	Value         *string // as it was given; nil in a personal list
	Reason        string
	ExpiresAt     *time.Time
	AddedAt       time.Time
	AddedBy       string
	Salt          []byte // random, of the digest
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}
