package models

import "time"

// SubjectAlias is a name by which an identity provider's security events know a subject. The name itself is not stored.
type SubjectAlias struct {
	EnvironmentID string `gorm:"primaryKey"`
	TenantID      string
	SubjectUID    string `gorm:"column:subject_uid"`
	MAC           []byte `gorm:"column:mac;primaryKey"`
	Format        string // iss_sub, opaque or email (RFC 9493)
	CreatedAt     time.Time
}

// SignalStream is an issuer of security events, with where they come from and what they do.
type SignalStream struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Name          string
	Issuer        string
	Audience      string
	KeysURL       *string `gorm:"column:keys_url"` // where the issuer's keys are published; nil if Keys has them
	Keys          JSON    // a key set (RFC 7517)
	PollURL       *string `gorm:"column:poll_url"` // where events are fetched; nil if the issuer pushes them
	Effects       JSON    // of map[string]SignalEffects, by type; those that are missing have their defaults
	CreatedAt     time.Time
	UpdatedAt     time.Time
	PushMAC       []byte `gorm:"column:push_mac"` // of the token with which the issuer pushes; nil for none yet
	PollToken     []byte // sealed; nil for none
	PolledAt      *time.Time
	ReceivedAt    *time.Time
	Status        string // enabled, paused or disabled, as the issuer says
	LastError     *string
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

// SignalEffects are the effects of events of a type on the subject that they name.
type SignalEffects struct {
	EndSessions      bool `json:"end_sessions"`
	VoidProofs       bool `json:"void_proofs"` // open proofs, challenges and holds
	ChallengeSeconds int  `json:"challenge_seconds"`
	Revoke           bool `json:"revoke"`
}

// Signal is a security event about a subject.
type Signal struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string `gorm:"primaryKey"`
	StreamID      string
	Token         []byte // digest of the id that the issuer gave the token of the event
	Place         int    // of the event and of the subject in the token
	Type          string
	Eased         bool      // says that a risk became smaller
	SubjectUID    *string   `gorm:"column:subject_uid"` // nil for one that is not known
	At            time.Time // when it happened
	ReceivedAt    time.Time
	Effects       Strings
}
