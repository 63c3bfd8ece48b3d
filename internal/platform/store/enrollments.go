package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Enrollments stores enrollments.
type Enrollments struct{ *Q }

// Enrollments returns the queries of the aggregate.
func (q *Q) Enrollments() Enrollments { return Enrollments{q} }

// Create inserts an enrollment.
func (q Enrollments) Create(ctx context.Context, e models.Enrollment) error {
	return q.gorm(ctx).Create(&e).Error
}

// ByID is for the run of an enrollment, which knows its id alone.
func (q Enrollments) ByID(ctx context.Context, id string) (models.Enrollment, error) {
	var row models.Enrollment
	return one(row, q.gorm(ctx).Where("id = ?", id).Take(&row).Error)
}

// Get is the newest enrollment of a subject that the session ended.
func (q Enrollments) Get(ctx context.Context, s Scope, subjectUID, session string) (models.Enrollment, error) {
	var row models.Enrollment
	return one(row, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ? and session_id = ?",
		s.Tenant, s.Environment, subjectUID, session).Order("created_at desc, id desc").Limit(1).Take(&row).Error)
}

// List lists the enrollments of a subject, newest first.
func (q Enrollments) List(ctx context.Context, s Scope, subjectUID string, p Page) ([]models.Enrollment, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ?", s.Tenant, s.Environment, subjectUID),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Enrollment
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, p, func(e models.Enrollment) (time.Time, string) { return e.CreatedAt, e.ID })
	return rows, next, nil
}

// Settle ends a pending enrollment as e says at a time; false where it is not pending.
func (q Enrollments) Settle(ctx context.Context, e models.Enrollment, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update enrollments set status = $2, windows_accepted = $3, limitations = $4, refused_sessions = $5, completed_at = $6
		where id = $1 and status = 'pending'`, e.ID, string(e.Status), e.WindowsAccepted, e.Limitations, e.RefusedSessions, at)
	return n > 0, err
}

// OpenAnchor is the anchor of the subject's recovery that a new enrollment completes; none where there is no recovery.
func (q Enrollments) OpenAnchor(ctx context.Context, subjectUID string) (string, error) {
	var anchors []string
	err := q.gorm(ctx).Raw("select anchor from recoveries where subject_uid = ? and status not in ('completed', 'expired') order by created_at desc limit 1",
		subjectUID).Scan(&anchors).Error
	if err != nil || len(anchors) == 0 {
		return "none", err
	}
	return anchors[0], nil
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

// EnrollKeys is how many keys an enrollment has collected in one session.
type EnrollKeys struct {
	SessionID string
	Keys      int
	Uncounted []byte // the vector of a frame whose keys were not counted when it was stored
}

// Keys adds up the keys of the frames that EnrollFrames would return if one more were stored, without that one. Each
// frame was counted when it was stored: no vector is read but of frames that an earlier release stored, each of which is a
// row of its own.
func (q Enrollments) Keys(ctx context.Context, subjectUID, device string) ([]EnrollKeys, error) {
	var rows []EnrollKeys
	err := q.gorm(ctx).Raw(`select session_id, coalesce(sum(keys), 0) as keys, uncounted from (
		select f.session_id, f.keys, case when f.keys is null then f.vector end as uncounted
		from frames f join sessions s on s.id = f.session_id
		where f.subject_uid = @uid and s.device_class = @device and f.purpose = 'enroll' and f.status = 'accepted'
		and f.vector is not null and f.received_at > `+enrollFloor+`
		order by f.received_at desc limit @most) newest
		group by session_id, uncounted`,
		map[string]any{"uid": subjectUID, "device": device, "most": enrollFrames - 1}).Scan(&rows).Error
	return rows, err
}
