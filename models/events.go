package models

import "time"

// Event is one entry of the log. Digest is the hash of salt and data, so that data can be erased and the chain still verifies.
type Event struct {
	ID              string  `gorm:"primaryKey"`
	Seq             int64   `gorm:"->"`
	Cause           *string // the first event of the transaction; nil in that event itself
	TenantID        string
	EnvironmentID   string
	Type            string
	At              time.Time
	SubjectUID      *string `gorm:"column:subject_uid"`
	Subject         *string
	Action          *string
	AuthorizationID *string
	Decision        *string
	Actor           string
	RequestID       *string
	WorkflowID      *string
	Data            JSON
	Salt            Hex
	Digest          Hex
	ErasedAt        *time.Time
}

// Outbox is work to start after the commit.
type Outbox struct {
	ID            int64 `gorm:"primaryKey"`
	Topic         string
	EnvironmentID string
	Ref           string
	Payload       JSON
	CreatedAt     time.Time
	AvailableAt   time.Time
	Attempts      int
	LastError     *string
	Trace         string `gorm:"->"` // traceparent of what added it; empty if its trace is not exported
}

// TableName implements schema.Tabler: the table has a singular name.
func (Outbox) TableName() string { return "outbox" }

// WebhookEndpoint is a URL of a relying party that receives events.
type WebhookEndpoint struct {
	ID             string `gorm:"primaryKey"`
	TenantID       string
	EnvironmentID  string
	URL            string `gorm:"column:url"`
	Description    string
	Events         Strings
	Status         string
	DisabledReason *string
	DisabledAt     *time.Time
	FailingSince   *time.Time
	IncludeDetails bool // events of holds carry the details of the request (internal/authz/display)
	CreatedAt      time.Time
	UpdatedAt      time.Time
	DeletedAt      *time.Time
	RowMAC         []byte `gorm:"column:row_mac"` // see pg.Table
}

// WebhookSecret is one sealed signing secret of an endpoint. ExpiresAt is set when a rotation replaces it.
type WebhookSecret struct {
	ID         string `gorm:"primaryKey"`
	EndpointID string
	Sealed     []byte
	CreatedAt  time.Time
	ExpiresAt  *time.Time
}

// WebhookDelivery is the delivery of one event to one endpoint.
type WebhookDelivery struct {
	ID            string `gorm:"primaryKey"`
	EnvironmentID string
	EndpointID    string
	EventID       string
	Type          string
	Replay        string
	Status        DeliveryStatus
	Attempts      int
	NextAttemptAt time.Time
	CreatedAt     time.Time
	SettledAt     *time.Time
	Trace         string // traceparent of the request that caused the event; empty if its trace is not exported
}

// WebhookAttempt is one attempt of a delivery.
type WebhookAttempt struct {
	ID             string `gorm:"primaryKey"`
	EnvironmentID  string
	DeliveryID     string
	EndpointID     string
	EventID        string
	Type           string
	Attempt        int
	At             time.Time
	StatusCode     *int
	LatencyMS      int `gorm:"column:latency_ms"`
	ResponseDigest *string
	Error          *string
	Succeeded      bool
}
