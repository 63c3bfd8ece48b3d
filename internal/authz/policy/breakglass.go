package policy

import (
	"fmt"
	"time"
)

// BreakGlass lets one member of a team approve a hold alone, at once and with a reason. A review by others follows.
type BreakGlass struct {
	Group       string      `json:"group"` // the key of a team of the environment
	AfterReview AfterReview `json:"after_review"`
}

// AfterReview is the review that follows a break-glass.
type AfterReview struct {
	Approvals     int   `json:"approvals"`      // different reviewers who say whether it was justified, 1..MaxReviewers
	WithinSeconds int64 `json:"within_seconds"` // 3600..2592000; after it no one can break the glass of the policy until the review is closed
}

// String returns the break-glass as tests of policies show it.
func (b BreakGlass) String() string {
	return fmt.Sprintf("1 of team %s, reviewed by %d within %s", b.Group, b.AfterReview.Approvals, time.Duration(b.AfterReview.WithinSeconds)*time.Second)
}
