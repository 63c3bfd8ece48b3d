package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/models"
)

// Observed is what taking a frame in stands on, read in one statement.
type Observed struct {
	SubjectSession
	Prior     *models.Frame     // status and reasons of the frame with this id, where the session has seen it
	Seen      bool              // a frame with this digest is stored for another session of the environment
	Templates []models.Template // in force
}

// Observe finds a session with its row locked until the transaction ends, so that its frames are taken one at a time, and
// all else that a frame is scored with. Whoever waited for the lock sees the session as it is then, and frames as they
// were before: a frame that came twice at once is the violation of frames_pkey, and is to be taken again. An empty digest
// has been seen nowhere.
func (q *Q) Observe(ctx context.Context, s Scope, id, frame string, digest []byte) (Observed, error) {
	var o Observed
	var status sql.NullString
	var reasons models.Strings
	var templates []byte
	e, u := &o.Session, &o.Subject
	err := q.queryRow(ctx, `select ses.id, ses.tenant_id, ses.environment_id, ses.subject_uid, ses.device_class, ses.status, ses.legacy,
		ses.started_at, ses.ended_at, ses.last_activity_at, ses.last_evidence_at, ses.coverage, ses.evidence_windows, ses.active_seconds,
		ses.modalities, ses.enrollment_ready, ses.trust_state, ses.state,
		s.uid, s.tenant_id, s.environment_id, s.external_id, s.status, s.enrollment, s.adaptation_frozen, s.research_consent,
		s.claim_cap_until, s.created_at, s.updated_at, s.revoked_at,
		p.status, p.reason_codes,
		length($5::bytea) > 0 and exists (select from frames f where f.environment_id = $2 and f.digest = $5 and f.session_id <> $3),
		(select coalesce(json_agg(json_build_object('ID', t.id, 'Modality', t.modality, 'DeviceClass', t.device_class, 'Version', t.version,
			'ModelVersion', t.model_version, 'Provisional', t.provisional, 'Limitations', t.limitations,
			'Data', translate(encode(t.data, 'base64'), E'\n', '')) order by t.modality, t.device_class), '[]')
			from templates t where t.subject_uid = ses.subject_uid and t.status = 'active')
		from sessions ses join subjects s on s.uid = ses.subject_uid and s.status <> 'erasing'
		left join frames p on p.session_id = ses.id and p.frame_id = $4
		where ses.tenant_id = $1 and ses.environment_id = $2 and ses.id = $3 for update of ses`, s.Tenant, s.Environment, id, frame, digest).Scan(
		&e.ID, &e.TenantID, &e.EnvironmentID, &e.SubjectUID, &e.DeviceClass, &e.Status, &e.Legacy,
		&e.StartedAt, &e.EndedAt, &e.LastActivityAt, &e.LastEvidenceAt, &e.Coverage, &e.EvidenceWindows, &e.ActiveSeconds,
		&e.Modalities, &e.EnrollmentReady, &e.TrustState, &e.State,
		&u.UID, &u.TenantID, &u.EnvironmentID, &u.ExternalID, &u.Status, &u.Enrollment, &u.AdaptationFrozen, &u.ResearchConsent,
		&u.ClaimCapUntil, &u.CreatedAt, &u.UpdatedAt, &u.RevokedAt, &status, &reasons, &o.Seen, &templates)
	if errors.Is(err, sql.ErrNoRows) {
		return o, ErrNotFound
	}
	if err != nil {
		return o, err
	}
	if status.Valid {
		o.Prior = &models.Frame{SessionID: id, FrameID: frame, Status: status.String, ReasonCodes: reasons}
	}
	if err := json.Unmarshal(templates, &o.Templates); err != nil {
		return o, fmt.Errorf("templates: %w", err)
	}
	for i := range o.Templates {
		t := &o.Templates[i]
		t.TenantID, t.EnvironmentID, t.SubjectUID, t.Status = s.Tenant, s.Environment, e.SubjectUID, models.TemplateActive
	}
	return o, nil
}

// TakeFrame stores a frame and what it changed of its session, in one statement.
func (q *Q) TakeFrame(ctx context.Context, f models.Frame, r models.Session) error {
	_, err := q.exec(ctx, `with taken as (insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status,
		reason_codes, received_at, at, duration_ms, digest, vector) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12))
		update sessions set last_activity_at = $13, last_evidence_at = $14, coverage = $15, evidence_windows = $16,
		active_seconds = $17, modalities = $18, enrollment_ready = $19, trust_state = $20, state = $21
		where id = $1 and status = 'active'`,
		f.SessionID, f.FrameID, f.EnvironmentID, f.SubjectUID, f.Purpose, f.Status, f.ReasonCodes, f.ReceivedAt, f.At, f.DurationMS,
		f.Digest, f.Vector, r.LastActivityAt, r.LastEvidenceAt, r.Coverage, r.EvidenceWindows, r.ActiveSeconds, r.Modalities,
		r.EnrollmentReady, r.TrustState, r.State)
	return err
}
