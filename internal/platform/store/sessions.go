package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// SubjectSession is a session with its subject.
type SubjectSession struct {
	Session models.Session
	Subject models.Subject
}

// Create inserts a session.
func (q Sessions) Create(ctx context.Context, s models.Session) error {
	return q.gorm(ctx).Create(&s).Error
}

// Get finds a session of the scope with its subject; sessions of an erased subject are not found.
func (q Sessions) Get(ctx context.Context, s Scope, id string) (SubjectSession, error) {
	return q.Sessions().lookup(ctx, s, id, "")
}

// Lock is Session with the row locked until the transaction ends: frames of one session are taken one at a time.
func (q Sessions) Lock(ctx context.Context, s Scope, id string) (SubjectSession, error) {
	return q.Sessions().lookup(ctx, s, id, " for update")
}

func (q Sessions) lookup(ctx context.Context, s Scope, id, lock string) (SubjectSession, error) {
	var row models.Session
	tx := q.gorm(ctx).Raw("select * from sessions where tenant_id = ? and environment_id = ? and id = ?"+lock, s.Tenant, s.Environment, id).Scan(&row)
	if tx.Error != nil {
		return SubjectSession{}, tx.Error
	}
	if tx.RowsAffected == 0 {
		return SubjectSession{}, ErrNotFound
	}
	subject, err := q.Subjects().ByUID(ctx, s, row.SubjectUID)
	return SubjectSession{Session: row, Subject: subject}, err
}

// List lists sessions, newest first; subject uid and status narrow where not empty.
func (q Sessions) List(ctx context.Context, s Scope, subjectUID string, status models.SessionStatus, p Page) ([]models.Session, string, error) {
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
	rows, next := cut(rows, p, func(r models.Session) (time.Time, string) { return r.StartedAt, r.ID })
	return rows, next, nil
}

// ExternalIDs are the relying party's own ids of subjects, by uid.
func (q Subjects) ExternalIDs(ctx context.Context, uids []string) (map[string]string, error) {
	var rows []models.Subject
	if err := q.gorm(ctx).Select("uid", "external_id").Where("uid in ?", uids).Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.UID] = r.ExternalID
	}
	return out, nil
}

// End ends an active session; false where it is not active.
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
		map[string]any{"at": at, "tenant": s.Tenant, "environment": s.Environment, "uid": uid}).Scan(&ids).Error
	return ids, err
}

// Save stores what a frame changed of an active session.
func (q Sessions) Save(ctx context.Context, r models.Session) (bool, error) {
	n, err := q.exec(ctx, `update sessions set last_activity_at = $2, last_evidence_at = $3, coverage = $4, evidence_windows = $5,
		active_seconds = $6, modalities = $7, enrollment_ready = $8, trust_state = $9, state = $10
		where id = $1 and status = 'active'`, r.ID, r.LastActivityAt, r.LastEvidenceAt, r.Coverage, r.EvidenceWindows,
		r.ActiveSeconds, r.Modalities, r.EnrollmentReady, r.TrustState, r.State)
	return n > 0, err
}

// EnrollFrame is an accepted frame of an enrollment with its session's end.
type EnrollFrame struct {
	SessionID  string
	DurationMS float64
	Vector     []byte
	ReceivedAt time.Time
}

// enrollFrames is how many frames of an enrollment are read at most, the newest: more change no template, and a collector
// that never stops must not make every acknowledgement dearer than the one before.
const enrollFrames = 1000

// enrollFloor is the time up to which frames of a subject count for no enrollment (a frame counts if it came later): the
// last completed enrollment, the end of every recovery's cool-down, and, if the environment wants enrolling to be granted by
// name, just before it was asked for; if it was not, no frame counts.
const enrollFloor = `coalesce(greatest(
	(select max(completed_at) from enrollments e where e.subject_uid = @uid and e.status = 'completed'),
	(select max(ready_at) from recoveries r where r.subject_uid = @uid),
	(select coalesce(s.enrollment_asked_at - interval '1 microsecond', 'infinity') from subjects s
		join environments v on v.id = s.environment_id where s.uid = @uid and v.enrollment_grant_required)), '-infinity')`

// EnrollFrames are the accepted enrollment frames of a subject on a class of device above the floor, session by session in
// order of arrival; of more than a thousand the newest.
func (q Sessions) EnrollFrames(ctx context.Context, subjectUID, device string) ([]EnrollFrame, error) {
	var rows []EnrollFrame
	err := q.gorm(ctx).Raw(`select session_id, duration_ms, vector, received_at from (
		select f.session_id, f.duration_ms, f.vector, f.received_at, s.started_at from frames f join sessions s on s.id = f.session_id
		where f.subject_uid = @uid and s.device_class = @device and f.purpose = 'enroll' and f.status = 'accepted'
		and f.vector is not null and f.received_at > `+enrollFloor+`
		order by f.received_at desc limit @most) newest
		order by started_at, session_id, received_at`,
		map[string]any{"uid": subjectUID, "device": device, "most": enrollFrames}).Scan(&rows).Error
	return rows, err
}
