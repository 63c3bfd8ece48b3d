package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// Observed is what taking a frame in stands on, read in one round trip.
type Observed struct {
	SubjectSession
	Prior     *models.Frame     // status and reasons of the frame with this id, where the session has seen it
	Seen      Sighting          // whether the environment has taken a frame with this digest
	Templates []models.Template // the subject's in force, where they were asked for
}

// Sighting is where a frame's features were seen before, however long ago.
type Sighting int

// Sightings.
const (
	NotSeen Sighting = iota
	SeenInSession
	SeenElsewhere // in another session, of the same subject or another
)

// FrameLookup is what Observe is to find out of a frame.
type FrameLookup struct {
	ID        string
	Digest    []byte // is looked for in the whole environment; empty for nowhere
	Templates bool   // the frame can be scored
	// Passages takes the blocks of passages typed by the subject on the session's class of device, oldest first. place binds
	// what is sealed to its row. The bytes are good until it returns. nil reads none.
	Passages func(place []byte, block int, sealed []byte) error
}

// PassagePlace is what the passages of a block are sealed to.
func PassagePlace(subjectUID, device string, block int) string {
	return subjectUID + "/" + device + "/" + strconv.Itoa(block)
}

// Whoever waits for the lock reads the blocks after the frame before it has written them: each statement has a snapshot of
// its own.
const (
	lockTyped = `select pg_advisory_xact_lock(hashtextextended(subject_uid || '/' || device_class, 30)) from sessions
		where tenant_id = $1 and environment_id = $2 and id = $3`
	passagesOfSession = `select p.subject_uid || '/' || p.device_class || '/' || p.block, p.block, p.passages from sessions s
		join typed_passages p on p.environment_id = s.environment_id and p.subject_uid = s.subject_uid and p.device_class = s.device_class
		where s.tenant_id = $1 and s.environment_id = $2 and s.id = $3 order by p.block`
)

const observe = `select ses.id, ses.tenant_id, ses.environment_id, ses.subject_uid, ses.device_class, ses.status, ses.legacy,
	ses.started_at, ses.ended_at, ses.last_activity_at, ses.last_evidence_at, ses.coverage, ses.evidence_windows, ses.active_seconds,
	ses.modalities, ses.enrollment_ready, ses.trust_state, ses.state,
	s.uid, s.tenant_id, s.environment_id, s.external_id, s.status, s.enrollment, s.adaptation_frozen, s.research_consent,
	s.claim_cap_until, s.created_at, s.updated_at, s.revoked_at,
	p.frame_id, p.status, p.reason_codes, d.session_id
	from sessions ses join subjects s on s.uid = ses.subject_uid and s.status <> 'erasing'
	left join frames p on p.session_id = ses.id and p.frame_id = $4
	left join frame_digests d on d.environment_id = $2 and d.digest = substr($5::bytea, 1, 16)
	where ses.tenant_id = $1 and ses.environment_id = $2 and ses.id = $3 for update of ses`

// Observe finds a session with its row locked until the transaction ends, so that its frames are taken one at a time, and
// what is known of the frame. Whoever waited for the lock sees the session as it is then, and frames as they were before:
// a frame that came twice at once is the violation of frames_pkey, or of frame_digests_pkey from two sessions, and is to be
// taken again. Templates are a statement of their own: as JSON in the same row, their data cost more.
func (q Sessions) Observe(ctx context.Context, s Scope, id string, f FrameLookup) (Observed, error) {
	var o Observed
	b := &pgx.Batch{}
	b.Queue(observe, s.Tenant, s.Environment, id, f.ID, f.Digest).QueryRow(o.scan)
	if f.Templates {
		b.Queue(templatesOfSession, s.Tenant, s.Environment, id).Query(func(rows pgx.Rows) (err error) {
			o.Templates, err = pgx.CollectRows(rows, scanTemplate)
			return err
		})
	}
	if f.Passages != nil {
		b.Queue(lockTyped, s.Tenant, s.Environment, id)
		b.Queue(passagesOfSession, s.Tenant, s.Environment, id).Query(func(rows pgx.Rows) error { return eachBlock(rows, f.Passages) })
	}
	err := q.batch(ctx, b)
	if errors.Is(err, sql.ErrNoRows) {
		return o, ErrNotFound
	}
	return o, err
}

// eachBlock hands on the blocks as they are received, without a copy: every frame reads up to a hundred kilobytes of them.
func eachBlock(rows pgx.Rows, take func(place []byte, block int, sealed []byte) error) error {
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		for _, i := range []int{1, 2} {
			if rows.FieldDescriptions()[i].Format != pgx.BinaryFormatCode {
				return errors.New("store: blocks are read in the binary format only")
			}
		}
		block := int(int32(binary.BigEndian.Uint32(raw[1]))) // #nosec G115 -- an integer column
		if err := take(raw[0], block, raw[2]); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (o *Observed) scan(row pgx.Row) error {
	var frame, status, seen sql.NullString
	var reasons []string
	e, u := &o.Session, &o.Subject
	err := row.Scan(&e.ID, &e.TenantID, &e.EnvironmentID, &e.SubjectUID, &e.DeviceClass, &e.Status, &e.Legacy,
		&e.StartedAt, &e.EndedAt, &e.LastActivityAt, &e.LastEvidenceAt, &e.Coverage, &e.EvidenceWindows, &e.ActiveSeconds,
		(*[]string)(&e.Modalities), &e.EnrollmentReady, &e.TrustState, &e.State,
		&u.UID, &u.TenantID, &u.EnvironmentID, &u.ExternalID, &u.Status, &u.Enrollment, &u.AdaptationFrozen, &u.ResearchConsent,
		&u.ClaimCapUntil, &u.CreatedAt, &u.UpdatedAt, &u.RevokedAt, &frame, &status, &reasons, &seen)
	if status.Valid {
		o.Prior = &models.Frame{SessionID: e.ID, FrameID: frame.String, Status: status.String, ReasonCodes: reasons}
	}
	switch {
	case seen.Valid && seen.String == e.ID:
		o.Seen = SeenInSession
	case seen.Valid:
		o.Seen = SeenElsewhere
	}
	return err
}

// array is a column of texts in the type that pgx encodes by itself; like models.Strings it is never null.
func array(s models.Strings) []string { return append([]string{}, s...) }

// TakenFrame is a frame with what it leaves behind.
type TakenFrame struct {
	models.Frame
	Remember bool          // the digest is known from here on, in the whole environment
	Passages *PassageBlock // nil where the frame completed no passage
}

// PassageBlock is the newest block of a subject's passages, with the frame's.
type PassageBlock struct {
	Block  int
	Sealed []byte
}

// passageBlocks is how many blocks of passages are kept of a subject on a class of device, the newest.
const passageBlocks = 64

const takeFrame = `with taken as (insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status,
	reason_codes, received_at, at, duration_ms, digest, vector, keys) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)),
	known as (insert into frame_digests (environment_id, digest, subject_uid, session_id, seen_at)
		select $3, substr($11::bytea, 1, 16), $4, $1, $8 where $14::boolean),
	typed as (insert into typed_passages (environment_id, subject_uid, device_class, block, passages, updated_at)
		select $3, $4, $15, $16::integer, $17::bytea, $8 where $17 is not null
		on conflict (environment_id, subject_uid, device_class, block) do update set passages = excluded.passages, updated_at = excluded.updated_at),
	forgotten as (delete from typed_passages where environment_id = $3 and subject_uid = $4 and device_class = $15 and block <= $18::integer)
	update sessions set last_activity_at = $19, last_evidence_at = $20, coverage = $21, evidence_windows = $22,
	active_seconds = $23, modalities = $24, enrollment_ready = $25, trust_state = $26, state = $27
	where id = $1 and status = 'active'`

// SaveFrame stores a frame and what it changed of its session, in one statement, which is sent with what comes next: inside
// a transaction the violation of frames_pkey or frame_digests_pkey is the commit's error.
func (q Sessions) SaveFrame(ctx context.Context, f TakenFrame, r models.Session) error {
	var block, forgotten *int
	var sealed []byte
	if p := f.Passages; p != nil {
		oldest := p.Block - passageBlocks
		block, sealed, forgotten = &p.Block, p.Sealed, &oldest
	}
	return q.atCommit(ctx, commitStatement{"save the frame", takeFrame, []any{
		f.SessionID, f.FrameID, f.EnvironmentID, f.SubjectUID, f.Purpose, f.Status, array(f.ReasonCodes), f.ReceivedAt, f.At, f.DurationMS,
		f.Digest, f.Vector, f.Keys, f.Remember, r.DeviceClass, block, sealed, forgotten, r.LastActivityAt, r.LastEvidenceAt, r.Coverage,
		r.EvidenceWindows, r.ActiveSeconds, array(r.Modalities), r.EnrollmentReady, r.TrustState, r.State,
	}})
}
