package models

import "time"

// AfterReviewStatus is the status of the review that follows a break-glass.
type AfterReviewStatus string

// The states, of which the last two are also the verdicts.
const (
	AfterReviewOpen         AfterReviewStatus = "open"
	AfterReviewJustified    AfterReviewStatus = "justified"
	AfterReviewNotJustified AfterReviewStatus = "not_justified"
)

// AfterReview is the review after a hold was approved by one person alone (internal/authz/afterreview). It refers to the subject by the id of the held
// decision only, and stays when the subject is erased.
type AfterReview struct {
	AuthorizationID string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	ActionID        string
	BrokenBy        string // the actor
	Principal       string // of the actor at the time
	RequestedBy     string // the credential of the request, as an actor
	RequesterPerson *string
	Team            string // as whose member the actor broke the glass
	ReasonDigest    string
	Approvals       int // verdicts that close it
	OpenedAt        time.Time
	DueAt           time.Time
	Status          AfterReviewStatus
	OverdueAt       *time.Time // when it was recorded that DueAt has passed; the policy is barred from DueAt on
	ClosedAt        *time.Time
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}

// AfterVerdict is the verdict of one reviewer of an AfterReview.
type AfterVerdict struct {
	AuthorizationID string `gorm:"primaryKey"`
	EnvironmentID   string
	TenantID        string
	Reviewer        string `gorm:"primaryKey"`
	Principal       string
	Verdict         AfterReviewStatus
	NoteDigest      string
	At              time.Time
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}
