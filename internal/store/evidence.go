package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// Observed is what taking a frame in stands on, read in one round trip.
type Observed struct {
	SubjectSession
	Prior     *models.Frame     // status and reasons of the frame with this id, where the session has seen it
	Seen      bool              // a frame with this digest is stored for another session of the environment
	Templates []models.Template // the subject's in force, where they were asked for
}

// FrameLookup is what Observe is to find out of a frame.
type FrameLookup struct {
	ID        string
	Digest    []byte // is looked for in other sessions; empty for nowhere
	Templates bool   // the frame can be scored
}

const observe = `select ses.id, ses.tenant_id, ses.environment_id, ses.subject_uid, ses.device_class, ses.status, ses.legacy,
	ses.started_at, ses.ended_at, ses.last_activity_at, ses.last_evidence_at, ses.coverage, ses.evidence_windows, ses.active_seconds,
	ses.modalities, ses.enrollment_ready, ses.trust_state, ses.state,
	s.uid, s.tenant_id, s.environment_id, s.external_id, s.status, s.enrollment, s.adaptation_frozen, s.research_consent,
	s.claim_cap_until, s.created_at, s.updated_at, s.revoked_at,
	p.frame_id, p.status, p.reason_codes,
	length($5::bytea) > 0 and exists (select from frames f where f.environment_id = $2 and f.digest = $5 and f.session_id <> $3)
	from sessions ses join subjects s on s.uid = ses.subject_uid and s.status <> 'erasing'
	left join frames p on p.session_id = ses.id and p.frame_id = $4
	where ses.tenant_id = $1 and ses.environment_id = $2 and ses.id = $3 for update of ses`

// Observe finds a session with its row locked until the transaction ends, so that its frames are taken one at a time, and
// what is known of the frame. Whoever waited for the lock sees the session as it is then, and frames as they were before:
// a frame that came twice at once is the violation of frames_pkey, and is to be taken again. Templates are a statement of
// their own: as JSON in the same row, their data cost more.
func (q *Q) Observe(ctx context.Context, s Scope, id string, f FrameLookup) (Observed, error) {
	var o Observed
	b := &pgx.Batch{}
	b.Queue(observe, s.Tenant, s.Environment, id, f.ID, f.Digest).QueryRow(o.scan)
	if f.Templates {
		b.Queue(templatesOfSession, s.Tenant, s.Environment, id).Query(func(rows pgx.Rows) (err error) {
			o.Templates, err = pgx.CollectRows(rows, scanTemplate)
			return err
		})
	}
	err := q.plain.send(ctx, b)
	if errors.Is(err, sql.ErrNoRows) {
		return o, ErrNotFound
	}
	return o, err
}

func (o *Observed) scan(row pgx.Row) error {
	var frame, status sql.NullString
	var reasons []string
	e, u := &o.Session, &o.Subject
	err := row.Scan(&e.ID, &e.TenantID, &e.EnvironmentID, &e.SubjectUID, &e.DeviceClass, &e.Status, &e.Legacy,
		&e.StartedAt, &e.EndedAt, &e.LastActivityAt, &e.LastEvidenceAt, &e.Coverage, &e.EvidenceWindows, &e.ActiveSeconds,
		(*[]string)(&e.Modalities), &e.EnrollmentReady, &e.TrustState, &e.State,
		&u.UID, &u.TenantID, &u.EnvironmentID, &u.ExternalID, &u.Status, &u.Enrollment, &u.AdaptationFrozen, &u.ResearchConsent,
		&u.ClaimCapUntil, &u.CreatedAt, &u.UpdatedAt, &u.RevokedAt, &frame, &status, &reasons, &o.Seen)
	if status.Valid {
		o.Prior = &models.Frame{SessionID: e.ID, FrameID: frame.String, Status: status.String, ReasonCodes: reasons}
	}
	return err
}

// array is a column of texts in the type that pgx encodes by itself; like models.Strings it is never null.
func array(s models.Strings) []string { return append([]string{}, s...) }

// TakeFrame stores a frame and what it changed of its session, in one statement, which is sent with what comes next: inside
// a transaction the violation of frames_pkey is the commit's error.
func (q *Q) TakeFrame(ctx context.Context, f models.Frame, r models.Session) error {
	return q.last(ctx, `with taken as (insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status,
		reason_codes, received_at, at, duration_ms, digest, vector) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12))
		update sessions set last_activity_at = $13, last_evidence_at = $14, coverage = $15, evidence_windows = $16,
		active_seconds = $17, modalities = $18, enrollment_ready = $19, trust_state = $20, state = $21
		where id = $1 and status = 'active'`,
		f.SessionID, f.FrameID, f.EnvironmentID, f.SubjectUID, f.Purpose, f.Status, array(f.ReasonCodes), f.ReceivedAt, f.At, f.DurationMS,
		f.Digest, f.Vector, r.LastActivityAt, r.LastEvidenceAt, r.Coverage, r.EvidenceWindows, r.ActiveSeconds, array(r.Modalities),
		r.EnrollmentReady, r.TrustState, r.State)
}
