package models

import "time"

// BackgroundChoice names the background that an environment compares people with.
type BackgroundChoice string

// The choices.
const (
	BackgroundPrior  BackgroundChoice = "prior"  // the deployment's background; nothing is learned here
	BackgroundOwn    BackgroundChoice = "own"    // learned from the environment's enrolled people
	BackgroundShared BackgroundChoice = "shared" // learned from the people of all environments that share
)

// Statuses of a background that an environment learned, besides active and retired.
const (
	BackgroundCandidate BackgroundStatus = "candidate" // compared and not worse
	BackgroundRefused   BackgroundStatus = "refused"   // compared and worse
)

// BackgroundSums are the sufficient statistics of an environment's counted people in one modality.
type BackgroundSums struct {
	EnvironmentID string `gorm:"primaryKey"`
	TenantID      string
	Modality      string `gorm:"primaryKey"`
	People        int
	Changes       int64  // how often a share was added or subtracted, ever
	Sums          []byte // sealed, in the format of internal/behavior/moments
	UpdatedAt     time.Time
}

// BackgroundShare records that a subject is counted in the sums of its environment.
type BackgroundShare struct {
	SubjectUID    string `gorm:"column:subject_uid;primaryKey"`
	Modality      string `gorm:"primaryKey"`
	EnvironmentID string
	TenantID      string
	Digest        []byte // of the share; nil if the template has too few sessions to count
	CountedAt     time.Time
}

// EnvironmentBackground is a background that an environment learned.
type EnvironmentBackground struct {
	Version       string `gorm:"primaryKey"`
	EnvironmentID string
	TenantID      string
	Modality      string
	Number        int // 1, 2, ... within the environment and modality
	Status        BackgroundStatus
	Source        BackgroundChoice // own or shared
	People        int
	Changes       int64 // of the sums that it was formed from
	Body          []byte
	Comparison    JSON
	MadeAt        time.Time
	ActivatedAt   *time.Time
	RetiredAt     *time.Time
}
