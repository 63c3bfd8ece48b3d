package subjectrow

import (
	"context"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Parts of the statements of other packages that read a subject, which is s in each of them.
const (
	// NotErasing hides a subject that is being erased.
	NotErasing = "s.status <> 'erasing'"
	// ByExternalID and ByUID select one subject. $1 is the tenant, $2 the environment, and $3 the relying party's id or ours.
	ByExternalID = "s.tenant_id = $1 and s.environment_id = $2 and s.external_id = $3 and " + NotErasing
	ByUID        = "s.tenant_id = $1 and s.environment_id = $2 and s.uid = $3"
	// Unchanged fails unless the subject $2 of the environment $1 was last changed at $3. It locks the row, so a concurrent revocation either sees the
	// rows of this transaction or prevents them.
	Unchanged = "select guard(count(*) > 0) from (select from subjects where environment_id = $1 and uid = $2 and updated_at = $3 for share) unchanged"
	// WithPrefix is the statement that lists the subjects of the tenant $1 and the environment $2 whose external ids are from $3 to before $4, by the index
	// subjects_prefix.
	WithPrefix = `select s.uid, s.external_id from subjects s where s.tenant_id = $1 and s.environment_id = $2 and s.external_id ~>=~ $3 and s.external_id ~<~ $4
		order by s.external_id using ~<~`
	// Columns lists the columns that a decision and a frame read of a subject. With the ids that select the row they are everything that its MAC covers. Fields receives them.
	Columns = `s.external_id, s.status, s.enrollment, s.research_consent, s.claim_cap_until, s.created_at, s.adaptation_frozen, s.challenge_until,
		s.revoked_at, s.reinstated_at, s.recovery_id, s.row_mac`
)

// Fields returns where to scan Columns.
func Fields(u *models.Subject) []any {
	return []any{
		&u.ExternalID, (*string)(&u.Status), (*string)(&u.Enrollment), &u.ResearchConsent, &u.ClaimCapUntil, &u.CreatedAt, &u.AdaptationFrozen, &u.ChallengeUntil,
		&u.RevokedAt, &u.ReinstatedAt, &u.RecoveryID, &u.RowMAC,
	}
}

// Join joins the subject of the rows of another table; "left" may precede it.
func Join(rows string) string { return JoinIn(rows, rows+".environment_id") }

// JoinIn is Join for rows without environment_id, or from which the planner does not derive it.
func JoinIn(rows, environment string) string {
	return " join subjects s on s.environment_id = " + environment + " and s.uid = " + rows + ".subject_uid"
}

// UIDOf returns the uid of the subject that a condition selects. The planner looks up this value once.
func UIDOf(condition string) string { return "(select s.uid from subjects s where " + condition + ")" }

// IsActive is the condition that the subject of a row is active.
func IsActive(row, environment string) string {
	return "exists (select from subjects s where s.environment_id = " + environment + " and s.uid = " + row + ".subject_uid and s.status = 'active')"
}

// Select is the statement that reads the subject that ByExternalID or ByUID selects: what Read scans, then other columns, of the rows that joins adds.
func Select(columns, joins, condition string) string {
	return "select s.uid, s.updated_at, " + table.Ended("s", "$2") + ", " + Columns + ", " + columns + " from subjects s " + joins + " where " + condition
}

// Read is the row of a subject as Select reads it.
type Read struct {
	row     models.Subject
	putBack bool
}

// Fields returns where to scan the first columns of Select.
func (r *Read) Fields() []any {
	return append([]any{&r.row.UID, &r.row.UpdatedAt, &r.putBack}, Fields(&r.row)...)
}

// Verified verifies the row, which is one of the scope, and returns it. A row from before the subject was revoked is still revoked.
func (r *Read) Verified(ctx context.Context, q *pg.Q, s pg.Scope) (models.Subject, error) {
	r.row.TenantID, r.row.EnvironmentID = s.Tenant, s.Environment
	if err := pg.Verify(ctx, q, r.row); err != nil {
		return models.Subject{}, err
	}
	if r.putBack {
		q.NotePutBack(s, table.Name, r.row.UID)
		r.row.Status = models.SubjectRevoked
	}
	return r.row, nil
}
