package subject

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// putErasedTerms stores terms; they replace earlier ones of the same id, which the erased subject had taken over.
func putErasedTerms(ctx context.Context, q *pg.Q, t models.ErasedTerms) error {
	return q.Gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "environment_id"}, {Name: "mac"}}, UpdateAll: true}).Create(&t).Error
}

// takeErasedTerms deletes the terms of an id and returns those that have not expired, or ErrNotFound.
func takeErasedTerms(ctx context.Context, q *pg.Q, environment string, macs [][]byte, at time.Time) (models.ErasedTerms, error) {
	var rows []models.ErasedTerms
	err := q.Gorm(ctx).Raw("delete from erased_terms where environment_id = ? and mac in ? returning *", environment, macs).Find(&rows).Error
	for _, t := range rows {
		if err == nil && at.Before(t.ExpiresAt) {
			return t, nil
		}
	}
	if err == nil {
		err = pg.ErrNotFound
	}
	return models.ErasedTerms{}, err
}

// DropErasedTerms deletes at most limit rows that expired before t.
func DropErasedTerms(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, "delete from erased_terms where (environment_id, mac) in (select environment_id, mac from erased_terms where expires_at < $1 limit $2)", t, limit)
}

// HideSubject begins an erasure: from now on no lookup returns the subject, and its external id can be used again. It
// returns false if the subject is being erased already.
func HideSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) (bool, error) {
	return subjectrow.Change(ctx, q.AsStored(), subjectrow.Of{Scope: s, UID: uid, At: at}, "status <> 'erasing'",
		"status = 'erasing', external_id = uid, research_consent = false")
}

func createErasure(ctx context.Context, q *pg.Q, e models.Erasure) error {
	return q.Gorm(ctx).Create(&e).Error
}

// GetErasure returns an erasure of an environment, for its workflow.
func GetErasure(ctx context.Context, q *pg.Q, environment, id string) (models.Erasure, error) {
	var e models.Erasure
	return pg.OrNotFound(e, q.Gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&e).Error)
}

// lockErasure is like Get and locks the row until the transaction ends.
func lockErasure(ctx context.Context, q *pg.Q, environment, id string) (models.Erasure, error) {
	var e models.Erasure
	return pg.OrNotFound(e, q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("environment_id = ? and id = ?", environment, id).Take(&e).Error)
}

// countErasures stores how many rows an erasure has removed so far, by table.
func countErasures(ctx context.Context, q *pg.Q, e models.Erasure, removed models.JSON) error {
	_, err := q.Exec(ctx, "update erasures set removed = $2 where id = $1 and environment_id = $3", e.ID, removed, e.EnvironmentID)
	return err
}

// finishErasure completes an erasure and removes the subject from its row, which stays as a receipt. It returns false if it was
// completed before.
func finishErasure(ctx context.Context, q *pg.Q, e models.Erasure, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update erasures set status = 'completed', completed_at = $2, subject_uid = null, subject = null
		where id = $1 and environment_id = $3 and status = 'erasing'`, e.ID, at, e.EnvironmentID)
	return n == 1, err
}

// eraseRows deletes at most limit rows of the subject from each table. It returns how many it deleted, by table, and
// whether there may be more.
func eraseRows(ctx context.Context, q *pg.Q, environment, uid string, limit int) (removed map[string]int64, more bool, err error) {
	removed = map[string]int64{}
	for _, table := range pg.SubjectTables() {
		if table.Subject.Erased != pg.DeletedBySubject { // rows of others are deleted with the row that they belong to
			continue
		}
		n, err := q.Exec(ctx, table.Erase(), uid, environment, limit)
		if err != nil {
			return nil, false, err
		}
		if n > 0 {
			removed[table.Name] += n
		}
		more = more || n == int64(limit)
	}
	return removed, more, nil
}

// storedResponses returns at most limit responses stored for the Idempotency-Key header in an environment, by credential
// and key, behind after.
func storedResponses(ctx context.Context, q *pg.Q, environment string, after models.IdempotencyKey, limit int) ([]models.IdempotencyKey, error) {
	var rows []models.IdempotencyKey
	err := q.Gorm(ctx).Raw(`select i.* from idempotency_keys i join credentials c on c.id = i.credential_id
		where i.environment_id = @environment and c.environment_id = @environment and i.body is not null and (i.credential_id, i.key) > (@credential, @key)
		order by i.credential_id, i.key limit @limit`, map[string]any{
		"environment": environment, "credential": after.CredentialID, "key": after.Key, "limit": limit,
	}).Find(&rows).Error
	return rows, err
}

func deleteStoredResponse(ctx context.Context, q *pg.Q, k models.IdempotencyKey) error {
	_, err := q.Exec(ctx, "delete from idempotency_keys where credential_id = $1 and key = $2 and environment_id = $3", k.CredentialID, k.Key, k.EnvironmentID)
	return err
}

// deleteSubject deletes the row of a subject that is being erased.
func deleteSubject(ctx context.Context, q *pg.Q, environment, uid string) error {
	_, err := q.Exec(ctx, "delete from subjects where uid = $1 and environment_id = $2 and status = 'erasing'", uid, environment)
	return err
}

// WorkflowRef names the row that a workflow was started for.
type WorkflowRef struct {
	Kind string // adaptation, challenge, hold, enrollment, recovery
	ID   string
}

// workflowsOfSubject returns at most limit workflows that may have been started for the subject, by kind and id, behind
// after.
func workflowsOfSubject(ctx context.Context, q *pg.Q, environment, uid string, after WorkflowRef, limit int) ([]WorkflowRef, error) {
	var rows []WorkflowRef
	err := q.Gorm(ctx).Raw(`select kind, id from (
			select 'challenge' as kind, id from challenges where environment_id = @environment and subject_uid = @uid
			union all select 'enrollment', id from enrollments where environment_id = @environment and subject_uid = @uid
			union all select 'hold', authorization_id from holds where environment_id = @environment and subject_uid = @uid
			union all select 'adaptation', id from sessions where environment_id = @environment and subject_uid = @uid and status <> 'active' and coverage = 'sufficient'
			union all select 'recovery', id from recoveries where environment_id = @environment and subject_uid = @uid) runs
		where (kind, id) > (@kind, @id) order by kind, id limit @limit`,
		map[string]any{"environment": environment, "uid": uid, "kind": after.Kind, "id": after.ID, "limit": limit}).Find(&rows).Error
	return rows, err
}

// UnfinishedErasures returns at most limit erasures requested before t that are not completed, oldest first.
func UnfinishedErasures(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]models.Erasure, error) {
	var rows []models.Erasure
	err := q.Gorm(ctx).Where("status = 'erasing' and requested_at < ?", t).Order("requested_at, id").Limit(limit).Find(&rows).Error
	return rows, err
}

// UnfinishedRecovery is the condition that a recovery is not settled.
const UnfinishedRecovery = "status in ('pending', 'cooling_down', 'ready')"

// CreateRecovery inserts a recovery, which the subject names from then on. It returns false if the subject has an unfinished one.
func CreateRecovery(ctx context.Context, q *pg.Q, r models.Recovery) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&r)
	if res.Error != nil || res.RowsAffected == 0 {
		return false, res.Error
	}
	of := subjectrow.Of{Scope: pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}, UID: r.SubjectUID, At: r.CreatedAt, To: r.ID}
	return subjectrow.Change(ctx, q, of, "true", "recovery_id = @to")
}

// NameRecoveries makes each subject name the recovery that it began last, also one that version 1.0 began. The MACs of the subjects are to be renewed.
func NameRecoveries(ctx context.Context, q *pg.Q) error {
	_, err := q.Exec(ctx, `update subjects s set recovery_id = r.id from (select distinct on (environment_id, subject_uid) environment_id, subject_uid, id from recoveries
		order by environment_id, subject_uid, created_at desc, id desc) r where r.environment_id = s.environment_id and r.subject_uid = s.uid and s.recovery_id is distinct from r.id`)
	return err
}

// UnfinishedRecoveryOf reads the newest recovery of a subject, locked by the clauses, and returns it if it is unfinished. No condition is on the status: one
// that was changed to a final status must not hide the row from the check of its MAC. The recovery that the subject names must be there.
func UnfinishedRecoveryOf(ctx context.Context, q *pg.Q, sub models.Subject, locked ...clause.Expression) (models.Recovery, error) {
	var r models.Recovery
	s := scopeOf(sub)
	err := q.Gorm(ctx).Clauses(locked...).Where(pg.InScope+" and subject_uid = ?", s.Tenant, s.Environment, sub.UID).Order("created_at desc, id desc").Take(&r).Error
	if sub.RecoveryID != nil && *sub.RecoveryID != r.ID {
		if missing := requireRecovery(ctx, q, sub); missing != nil {
			return models.Recovery{}, missing
		}
	}
	if err == nil && (r.Status == models.RecoveryCompleted || r.Status == models.RecoveryExpired) {
		return models.Recovery{}, pg.ErrNotFound
	}
	return pg.OrNotFound(r, err)
}

// requireRecovery fails if the recovery that a subject names was moved or deleted. An earlier copy of it has ended, which is no reason.
func requireRecovery(ctx context.Context, q *pg.Q, sub models.Subject) error {
	var stored int64
	err := pg.Unchecked(q.Gorm(ctx)).Model(&models.Recovery{}).Where("environment_id = ? and id = ? and subject_uid = ?", sub.EnvironmentID, *sub.RecoveryID, sub.UID).Count(&stored).Error
	if err != nil || stored > 0 {
		return err
	}
	return q.Missing(scopeOf(sub), "recoveries", *sub.RecoveryID)
}

// endSessionsOfSubject ends the active sessions of a subject that started before a time and returns their ids.
func endSessionsOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, before, at time.Time) ([]string, error) {
	ended, err := pg.Change[models.Session](ctx, q.AsStored(), `tenant_id = @tenant and environment_id = @environment and subject_uid = @uid
		and status = 'active' and started_at <= @before`, "status = 'ended', ended_at = @at",
		map[string]any{"before": before, "at": at, "tenant": s.Tenant, "environment": s.Environment, "uid": uid})
	ids := make([]string, len(ended))
	for i, e := range ended {
		ids[i] = e.ID
	}
	return ids, err
}

// Filter narrows a list of subjects. Empty fields filter nothing.
type Filter struct {
	Status     string
	Enrollment string
}

// ListSubjects lists the scope's subjects, newest first.
func ListSubjects(ctx context.Context, q *pg.Q, s pg.Scope, f Filter, p pg.Page) ([]models.Subject, string, error) {
	q = q.Old(ctx).AsStored()
	tx := q.Gorm(ctx).Where(subjectrow.InScope, s.Tenant, s.Environment)
	if f.Status != "" {
		tx = tx.Where("status = ?", f.Status)
	}
	if f.Enrollment != "" {
		tx = tx.Where("enrollment = ?", f.Enrollment)
	}
	tx, err := pg.Paginate(tx, p, "created_at", "uid")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Subject
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(r models.Subject) (time.Time, string) { return r.CreatedAt, r.UID })
	return rows, next, nil
}

// SetAdaptationFrozen freezes or unfreezes the adaptation of a subject's templates. It returns false if nothing changed.
func SetAdaptationFrozen(ctx context.Context, q *pg.Q, s pg.Scope, uid string, frozen bool, at time.Time) (bool, error) {
	return subjectrow.Change(ctx, q, subjectrow.Of{Scope: s, UID: uid, At: at, To: frozen}, "status <> 'erasing' and adaptation_frozen <> @to", "adaptation_frozen = @to")
}

// RevokeSubject moves an active subject to revoked. It returns false if the subject was not active.
func RevokeSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) (bool, error) {
	return subjectrow.Change(ctx, q.AsStored(), subjectrow.Of{Scope: s, UID: uid, At: at}, "status = 'active'", "status = 'revoked', revoked_at = @at")
}

// SetEnrollment stores the enrollment state of a subject.
func SetEnrollment(ctx context.Context, q *pg.Q, s pg.Scope, uid string, state models.EnrollmentState, at time.Time) error {
	_, err := q.Exec(ctx, `update subjects set enrollment = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3 and enrollment <> $4`, s.Tenant, s.Environment, uid, string(state), at)
	return err
}

// EnrollmentTerms are the conditions under which a frame may enroll a subject.
type EnrollmentTerms struct {
	GrantRequired bool       // the environment requires a grant for each enrollment
	AskedAt       *time.Time // when the next enrollment was requested explicitly; nil if it was not
	ReadyAt       *time.Time // when the cool-down of the subject's last recovery ends
}

// EnrollmentTermsOf returns the terms of a subject.
func EnrollmentTermsOf(ctx context.Context, q *pg.Q, s pg.Scope, uid string) (EnrollmentTerms, error) {
	var t EnrollmentTerms
	err := q.QueryRow(ctx, `select e.enrollment_grant_required, s.enrollment_asked_at,
		(select max(ready_at) from recoveries r where r.tenant_id = $1 and r.environment_id = $2 and r.subject_uid = $3)
		from subjects s join environments e on e.tenant_id = s.tenant_id and e.id = s.environment_id
		where s.tenant_id = $1 and s.environment_id = $2 and s.uid = $3`, s.Tenant, s.Environment, uid).
		Scan(&t.GrantRequired, &t.AskedAt, &t.ReadyAt)
	return pg.OrNotFound(t, err)
}

// EnrollmentAsked is the time just before the next enrollment of the subject @uid was requested explicitly, or infinity if it was not; null if the environment
// requires no grant for enrolling.
const EnrollmentAsked = `(select coalesce(s.enrollment_asked_at - interval '1 microsecond', 'infinity') from subjects s
	join environments v on v.id = s.environment_id where s.environment_id = @environment and s.uid = @uid and v.enrollment_grant_required)`

// SetClaimCap caps the claims about the subject of an entry until a time, and appends the entry with it. A cap is never shortened.
func SetClaimCap(ctx context.Context, q *pg.Q, until time.Time, e events.Entry) error {
	until = until.Add(time.Millisecond - 1).Truncate(time.Millisecond) // as the entry has it
	if _, err := subjectrow.Change(ctx, q.AsStored(), subjectrow.Of{Scope: e.Scope, UID: e.SubjectUID, At: e.At, To: until}, "true",
		"claim_cap_until = greatest(claim_cap_until, @to)"); err != nil {
		return err
	}
	e.Data = events.SubjectClaimsCappedData{Until: apitime.Time(until)}
	return events.Append(ctx, q, e)
}

// Suspect requires a challenge of the subject of an entry for every decision until a time, and appends the entry with it. A requirement is never shortened.
func Suspect(ctx context.Context, q *pg.Q, until time.Time, e events.Entry) error {
	until = until.Add(time.Millisecond - 1).Truncate(time.Millisecond) // as the entry has it
	if _, err := subjectrow.Change(ctx, q.AsStored(), subjectrow.Of{Scope: e.Scope, UID: e.SubjectUID, At: e.At, To: until}, "true",
		"challenge_until = greatest(challenge_until, @to)"); err != nil {
		return err
	}
	e.Data = events.SubjectChallengeRequiredData{Until: apitime.Time(until)}
	return events.Append(ctx, q, e)
}

// Touch marks a subject as changed: decisions that are being made about it are made again.
func Touch(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) error {
	_, err := q.Exec(ctx, "update subjects set updated_at = $4 where tenant_id = $1 and environment_id = $2 and uid = $3", s.Tenant, s.Environment, uid, at)
	return err
}

// researchSection is selected by the subject's pseudonyms, and listsSection by the keys that its id has in lists; all other sections are
// selected by its uid.
const (
	researchSection = "research_vectors"
	listsSection    = "list_entries"
)

// ExportSink receives an export while it is read: each section, followed by its rows, each a JSON object.
type ExportSink interface {
	Section(name string) error
	Row(row json.RawMessage) error
}

// exportSubject reads everything stored about a subject, by section name, and holds one row in memory at a time. Call it
// in Read, so that all sections are of one snapshot. limit is the time that one section may take.
func exportSubject(ctx context.Context, q *pg.Q, subject models.Subject, selectors map[string]any, limit time.Duration, sink ExportSink) error {
	_, err := q.Exec(ctx, `select set_config('statement_timeout', $1, true),
		set_config('idle_in_transaction_session_timeout', $1, true)`, strconv.FormatInt(limit.Milliseconds(), 10))
	if err != nil {
		return err
	}
	for _, t := range pg.ExportedTables() {
		arg, own := selectors[t.SectionName()]
		if !own {
			arg = subject.UID
		}
		if err := sink.Section(t.SectionName()); err != nil {
			return err
		}
		if err := exportRows(ctx, q, t.Export(), sink.Row, arg, subject.EnvironmentID); err != nil {
			return err
		}
	}
	return nil
}

func exportRows(ctx context.Context, q *pg.Q, query string, row func(json.RawMessage) error, args ...any) error {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			return err
		}
		if err := row(raw); err != nil {
			return err
		}
	}
	return rows.Err()
}

// SetTimingTemplate stores the sealed template that /enrol learned of a subject; nil deletes it. It returns false if nothing changed.
func SetTimingTemplate(ctx context.Context, q *pg.Q, s pg.Scope, uid string, sealed []byte, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update subjects set timing_template = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3 and timing_template is distinct from $4`, s.Tenant, s.Environment, uid, sealed, at)
	return n == 1, err
}

// GetTimingTemplate returns the template that /enrol learned of a subject, or nil if there is none.
func GetTimingTemplate(ctx context.Context, q *pg.Q, s pg.Scope, uid string) ([]byte, error) {
	var sealed []byte
	err := q.QueryRow(ctx, "select timing_template from subjects where tenant_id = $1 and environment_id = $2 and uid = $3",
		s.Tenant, s.Environment, uid).Scan(&sealed)
	return pg.OrNotFound(sealed, err)
}
