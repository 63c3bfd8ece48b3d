package models

import "time"

// NoticeKind is the occasion of a notice about a hold.
type NoticeKind string

// The occasions.
const (
	NoticeOpened    NoticeKind = "opened"
	NoticeDueSoon   NoticeKind = "due_soon" // half of the time of the hold has passed
	NoticeEscalated NoticeKind = "escalated"
	// NoticeBreakGlass is not chosen: who was skipped is notified through the channels that they chose for any occasion.
	NoticeBreakGlass NoticeKind = "break_glass"
	NoticeNextStep   NoticeKind = "next_step" // of one's own request: a step is approved, and the next one open
	NoticeSettled    NoticeKind = "settled"   // of one's own request: approved, rejected or expired
)

// NoticeKinds lists the occasions that can be chosen, in the order in which they happen.
var NoticeKinds = []NoticeKind{NoticeOpened, NoticeDueSoon, NoticeEscalated, NoticeNextStep, NoticeSettled}

// OfRequester reports whether the occasion concerns the person who requests, and not reviewers.
func (k NoticeKind) OfRequester() bool { return k == NoticeNextStep || k == NoticeSettled }

// ChannelEmail is the channel of a person's own e-mail address. Any other channel is the id of a chat address.
const ChannelEmail = "email"

// PersonAddress is the e-mail address of a person, sealed (internal/delivery/notify).
type PersonAddress struct {
	PersonID      string `gorm:"primaryKey"`
	TenantID      string
	Address       []byte
	CodeMAC       []byte `gorm:"column:code_mac"` // of the code that was mailed last; nil if none is valid
	CodeExpiresAt *time.Time
	Attempts      int // wrong codes since
	ChangedAt     time.Time
	ConfirmedAt   *time.Time
	NamedBy       *string // the actor who chose it for an invitation; nil for the person
	GatherMinutes int     // between two e-mails about holds
	QuietFrom     string  // HH:MM in Zone; empty if QuietUntil is
	QuietUntil    string
	Zone          string // of the IANA database
}

// ChatShape is the format of the messages that a chat address accepts.
type ChatShape string

// The formats.
const (
	ChatSlack ChatShape = "slack"
	ChatTeams ChatShape = "teams"
)

// ChatAddress is a room of a chat that notices are posted to. URL is sealed, and nil once the address was removed.
type ChatAddress struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Name          string
	Shape         ChatShape
	Host          string
	URL           []byte `gorm:"column:url"`
	CreatedAt     time.Time
	CreatedBy     string
	FailingSince  *time.Time
	Failure       *string
	RemovedAt     *time.Time
}

// NoticeChoice says that a person wants to be notified on an occasion through a channel.
type NoticeChoice struct {
	EnvironmentID string `gorm:"primaryKey"`
	TenantID      string
	PersonID      string     `gorm:"primaryKey"`
	Kind          NoticeKind `gorm:"primaryKey"`
	Channel       string     `gorm:"primaryKey"`
}

// NoticeStatus is the state of a notice.
type NoticeStatus string

// The states. A notice that lost its reason before it was sent is discarded.
const (
	NoticePending   NoticeStatus = "pending"
	NoticeSent      NoticeStatus = "sent"
	NoticeFailed    NoticeStatus = "failed"
	NoticeDiscarded NoticeStatus = "discarded"
)

// Notice is one message about a hold to one recipient: the id of a person, by e-mail, or of a chat address.
type Notice struct {
	ID              string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	AuthorizationID string
	Kind            NoticeKind
	Recipient       string
	Status          NoticeStatus
	Attempts        int
	Failure         *string
	CreatedAt       time.Time
	DueAt           time.Time // when its message is to be sent
	CarriedBy       *string   // the notice whose message carries it; nil until that is due
	SettledAt       *time.Time
}
