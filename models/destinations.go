package models

import "time"

// DestinationKind is how a destination takes the log.
type DestinationKind string

// Kinds of destinations.
const (
	DestinationOTLP   DestinationKind = "otlp"   // OTLP logs over HTTP
	DestinationHTTPS  DestinationKind = "https"  // OCSF events in the body of a POST
	DestinationSyslog DestinationKind = "syslog" // OCSF events as syslog messages over TLS (RFC 5424, RFC 5425)
)

// ExportDestination is a system to which the sealed log of an environment is pushed.
type ExportDestination struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string `gorm:"primaryKey"`
	Name          string
	Kind          DestinationKind
	URL           string `gorm:"column:url"`
	Encoding      string // of the body; empty for syslog
	Header        string // name of the header that has the credential; empty for syslog
	CA            string `gorm:"column:ca"` // certificates in PEM that sign the receiver's; empty for those of the machine
	Since         *time.Time
	CreatedAt     time.Time
	UpdatedAt     time.Time
	Credentials   []byte  // sealed; nil for none
	Position      int64   // the number of the last entry that the receiver confirmed
	ReservedBy    *string // of the process that sends; nil for none
	ReservedUntil *time.Time
	NextAttemptAt time.Time
	Failures      int // in a row
	FailingSince  *time.Time
	SentAt        *time.Time
	LastError     *string
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}
