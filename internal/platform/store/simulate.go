package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Replayable is a stored decision with what it takes to make it again.
type Replayable struct {
	Decision           string
	Mode               models.ActionMode
	ReasonCodes        models.Strings
	Assurance          models.JSON
	ChallengesUsed     int
	ChallengeCompleted *string
	HoldApproved       bool
	Passkeys           int // that the subject has now
}

// Replayables are the action's newest decisions in [since, until), at most last; nil bounds are open.
func (q Decisions) Replayables(ctx context.Context, s Scope, action string, since, until *time.Time, last int) ([]Replayable, error) {
	var rows []Replayable
	err := q.gorm(ctx).Raw(`select a.decision, a.mode, a.reason_codes, a.assurance, a.challenges_used, a.challenge_completed,
			a.hold_approved, (select count(*) from passkeys p where p.subject_uid = a.subject_uid and p.revoked_at is null) as passkeys
		from authorizations a
		where a.tenant_id = ? and a.environment_id = ? and a.action_id = ?
			and (?::timestamptz is null or a.decided_at >= ?) and (?::timestamptz is null or a.decided_at < ?)
		order by a.decided_at desc, a.id desc limit ?`,
		s.Tenant, s.Environment, action, since, since, until, until, last).Scan(&rows).Error
	return rows, err
}
