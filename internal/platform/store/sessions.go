package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Sessions stores sessions and the evidence of their frames.
type Sessions struct{ *Q }

// Sessions returns the queries of the aggregate.
func (q *Q) Sessions() Sessions { return Sessions{q} }

// SubjectSession is a session with its subject.
type SubjectSession struct {
	Session models.Session
	Subject models.Subject
}

// Create inserts a session.
func (q Sessions) Create(ctx context.Context, s models.Session) error {
	return q.gorm(ctx).Create(&s).Error
}

// Get returns a session of the scope with its subject. Sessions of an erased subject are not found.
func (q Sessions) Get(ctx context.Context, s Scope, id string) (SubjectSession, error) {
	return q.lookup(ctx, s, id, "")
}

// Lock is like Get and locks the session until the transaction ends.
func (q Sessions) Lock(ctx context.Context, s Scope, id string) (SubjectSession, error) {
	return q.lookup(ctx, s, id, " for update")
}

func (q Sessions) lookup(ctx context.Context, s Scope, id, lock string) (SubjectSession, error) {
	var row models.Session
	tx := q.gorm(ctx).Raw("select * from sessions where tenant_id = ? and environment_id = ? and id = ?"+lock, s.Tenant, s.Environment, id).Find(&row)
	if tx.Error != nil {
		return SubjectSession{}, tx.Error
	}
	if tx.RowsAffected == 0 {
		return SubjectSession{}, ErrNotFound
	}
	subject, err := q.Subjects().ByUID(ctx, s, row.SubjectUID)
	return SubjectSession{Session: row, Subject: subject}, err
}

// List lists sessions, newest first. subjectUID and status narrow it if they are not empty.
func (q Sessions) List(ctx context.Context, s Scope, subjectUID string, status models.SessionStatus, p Page) ([]models.Session, string, error) {
	q.Q = q.old(ctx)
	tx := q.gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	if subjectUID != "" {
		tx = tx.Where("subject_uid = ?", subjectUID)
	}
	if status != "" {
		tx = tx.Where("status = ?", string(status))
	}
	tx, err := paginate(tx, p, "started_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Session
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(r models.Session) (time.Time, string) { return r.StartedAt, r.ID })
	return rows, next, nil
}

// End ends an active session. It returns false if the session is not active.
func (q Sessions) End(ctx context.Context, s Scope, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update sessions set status = 'ended', ended_at = $4 where tenant_id = $1 and environment_id = $2 and id = $3
		and status = 'active'`, s.Tenant, s.Environment, id, at)
	return n > 0, err
}

// EndOfSubject ends the active sessions of a subject and returns their ids.
func (q Sessions) EndOfSubject(ctx context.Context, s Scope, uid string, at time.Time) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw(`update sessions set status = 'ended', ended_at = @at where tenant_id = @tenant and environment_id = @environment
		and subject_uid = @uid and status = 'active' returning id`,
		map[string]any{"at": at, "tenant": s.Tenant, "environment": s.Environment, "uid": uid}).Find(&ids).Error
	return ids, err
}

// Save stores the evidence fields of an active session. It returns false if the session is not active.
func (q Sessions) Save(ctx context.Context, r models.Session) (bool, error) {
	n, err := q.exec(ctx, `update sessions set version = version + 1, last_activity_at = $2, last_evidence_at = $3, coverage = $4, evidence_windows = $5,
		active_seconds = $6, modalities = $7, enrollment_ready = $8, trust_state = $9, state = $10
		where id = $1 and environment_id = $11 and status = 'active'`, r.ID, r.LastActivityAt, r.LastEvidenceAt, r.Coverage, r.EvidenceWindows,
		r.ActiveSeconds, r.Modalities, r.EnrollmentReady, r.TrustState, r.State, r.EnvironmentID)
	return n > 0, err
}

// ActiveIDs returns the ids of at most limit active sessions of a subject, newest first.
func (q Sessions) ActiveIDs(ctx context.Context, s Scope, subjectUID string, limit int) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw(`select id from sessions where tenant_id = ? and environment_id = ? and subject_uid = ? and status = 'active'
		order by started_at desc limit ?`, s.Tenant, s.Environment, subjectUID, limit).Find(&ids).Error
	return ids, err
}

// ByID returns a session of an environment, for the workflow that adapts templates after its end.
func (q Sessions) ByID(ctx context.Context, environment, id string) (models.Session, error) {
	var row models.Session
	return orNotFound(row, q.gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&row).Error)
}

// ExpireIdle moves at most limit active sessions without activity since t to expired and returns them. It skips locked
// rows, which the next call finds. It finds them by when they began: an index on the last activity would make every frame
// of evidence more expensive.
func (q Sessions) ExpireIdle(ctx context.Context, t, at time.Time, limit int) ([]models.Session, error) {
	var rows []models.Session
	err := q.gorm(ctx).Raw(`update sessions s set status = 'expired', ended_at = ? from (select id from sessions
		where status = 'active' and started_at < ? and last_activity_at < ? order by started_at limit ? for update skip locked) idle
		where s.id = idle.id returning s.id, s.tenant_id, s.environment_id, s.subject_uid, s.started_at, s.coverage`, at, t, t, limit).Find(&rows).Error
	return rows, err
}
