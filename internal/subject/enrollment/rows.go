package enrollment

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	subjects "github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/models"
)

// CreateEnrollment inserts an enrollment.
func CreateEnrollment(ctx context.Context, q *pg.Q, e models.Enrollment) error {
	return q.Gorm(ctx).Create(&e).Error
}

// ByID returns an enrollment of an environment, for its workflow.
func ByID(ctx context.Context, q *pg.Q, environment, id string) (models.Enrollment, error) {
	var row models.Enrollment
	return pg.OrNotFound(row, q.Gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&row).Error)
}

// getEnrollment returns the subject's newest enrollment that was requested with the session as its last.
func getEnrollment(ctx context.Context, q *pg.Q, s pg.Scope, subjectUID, session string) (models.Enrollment, error) {
	var row models.Enrollment
	return pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ? and session_id = ?",
		s.Tenant, s.Environment, subjectUID, session).Order("created_at desc, id desc").Limit(1).Take(&row).Error)
}

// listEnrollments lists the enrollments of a subject, newest first.
func listEnrollments(ctx context.Context, q *pg.Q, s pg.Scope, subjectUID string, p pg.Page) ([]models.Enrollment, string, error) {
	tx, err := pg.Paginate(q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ?", s.Tenant, s.Environment, subjectUID),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Enrollment
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(e models.Enrollment) (time.Time, string) { return e.CreatedAt, e.ID })
	return rows, next, nil
}

// HasUnfinishedEnrollment returns at most limit enrollments requested before t that are pending, oldest first.
func HasUnfinishedEnrollment(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]models.Enrollment, error) {
	var rows []models.Enrollment
	err := q.Gorm(ctx).Where("status = 'pending' and created_at < ?", t).Order("created_at, id").Limit(limit).Find(&rows).Error
	return rows, err
}

// settleEnrollment moves a pending enrollment to the status of e. It returns false if it is not pending.
func settleEnrollment(ctx context.Context, q *pg.Q, e models.Enrollment, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update enrollments set status = $2, windows_accepted = $3, limitations = $4, refused_sessions = $5, completed_at = $6
		where id = $1 and environment_id = $7 and status = 'pending'`,
		e.ID, string(e.Status), e.WindowsAccepted, e.Limitations, e.RefusedSessions, at, e.EnvironmentID)
	return n > 0, err
}

// EnrollFrame is an accepted enrollment frame.
type EnrollFrame struct {
	SessionID  string
	DurationMS float64
	Vector     []byte
	ReceivedAt time.Time
}

// enrollFrames bounds the number of enrollment frames that are read, newest first. More would not change a template, and
// a collector that never stops must not make each acknowledgement slower than the previous one.
const enrollFrames = 1000

// enrollFloor is the time at or before which the frames of a subject do not count for an enrollment: the latest of the
// last completed enrollment on the class of device (on any, if its session is deleted), the end of every recovery's cool-down and, if the environment requires a grant for
// enrolling, the time just before the enrollment was requested explicitly. If it was not, that is infinity and no frame
// counts.
const enrollFloor = `coalesce(greatest(
	(select max(e.completed_at) from enrollments e left join sessions es on es.id = e.session_id and es.environment_id = e.environment_id
		where e.environment_id = @environment and e.subject_uid = @uid and e.status = 'completed' and coalesce(es.device_class, @device) = @device),
	(select max(ready_at) from recoveries r where r.environment_id = @environment and r.subject_uid = @uid),
	` + subjects.EnrollmentAsked + `), '-infinity')`

// FramesOfEnrollment returns the accepted enrollment frames of a subject on a class of device that count for the next enrollment,
// session by session in order of arrival. Of more than 1000 frames it returns the newest. Frames that were received after the given
// time are left out: they count for the enrollment after one that is completed at that time.
func FramesOfEnrollment(ctx context.Context, q *pg.Q, environment, subjectUID, device string, until time.Time) ([]EnrollFrame, error) {
	var rows []EnrollFrame
	err := q.Gorm(ctx).Raw(`select session_id, duration_ms, vector, received_at from (
		select f.session_id, f.duration_ms, f.vector, f.received_at, s.started_at from frames f join sessions s on s.id = f.session_id and s.environment_id = f.environment_id
		where f.environment_id = @environment and f.subject_uid = @uid and s.device_class = @device and f.purpose = 'enroll' and f.status = 'accepted'
		and f.vector is not null and f.received_at <= @until and f.received_at > `+enrollFloor+`
		order by f.received_at desc limit @most) newest
		order by started_at, session_id, received_at`,
		map[string]any{"environment": environment, "uid": subjectUID, "device": device, "until": until, "most": enrollFrames}).Find(&rows).Error
	return rows, err
}

// EnrollKeys is the number of keystrokes that an enrollment has collected in one session.
type EnrollKeys struct {
	SessionID string
	Keys      int
}

// KeysOfEnrollment counts the keystrokes of the frames that FramesOfEnrollment would return now if one more were stored, without that one.
func KeysOfEnrollment(ctx context.Context, q *pg.Q, environment, subjectUID, device string) ([]EnrollKeys, error) {
	var rows []EnrollKeys
	err := q.Gorm(ctx).Raw(`select session_id, coalesce(sum(keys), 0) as keys from (
		select f.session_id, f.keys from frames f join sessions s on s.id = f.session_id and s.environment_id = f.environment_id
		where f.environment_id = @environment and f.subject_uid = @uid and s.device_class = @device and f.purpose = 'enroll' and f.status = 'accepted'
		and f.vector is not null and f.received_at > `+enrollFloor+`
		order by f.received_at desc limit @most) newest
		group by session_id`,
		map[string]any{"environment": environment, "uid": subjectUID, "device": device, "most": enrollFrames - 1}).Find(&rows).Error
	return rows, err
}
