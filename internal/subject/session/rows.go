package session

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// CreateSession inserts a session.
func CreateSession(ctx context.Context, q *pg.Q, s models.Session) error {
	return q.Gorm(ctx).Create(&s).Error
}

// EndSession ends an active session. It returns false if the session is not active.
func EndSession(ctx context.Context, q *pg.Q, s pg.Scope, id string, at time.Time) (bool, error) {
	ended, err := pg.Change[models.Session](ctx, q.AsStored(), "tenant_id = @tenant and environment_id = @environment and id = @id and status = 'active'",
		"status = 'ended', ended_at = @at", map[string]any{"tenant": s.Tenant, "environment": s.Environment, "id": id, "at": at})
	return len(ended) > 0, err
}

// ExpireIdle moves at most limit active sessions that are over at a time (assurance.Effective) to expired and returns them. It finds them by when they
// began: an index on the last activity would make every frame of evidence more expensive. A distributed server locks rows of one environment at a time.
func ExpireIdle(ctx context.Context, q *pg.Q, at time.Time, limit int) (expired []models.Session, err error) {
	const over = "status = 'active' and (last_activity_at < @idle or started_at < @old)"
	args := map[string]any{"idle": at.Add(-assurance.SessionIdle), "old": at.Add(-assurance.SessionLife), "at": at}
	var found []models.Session
	err = pg.Unchecked(q.Gorm(ctx)).Select("environment_id, id").Where(over+" and started_at < @idle", args).Order("started_at").Limit(limit).Find(&found).Error
	if err != nil {
		return nil, err
	}
	ids := map[string][]string{} // of each environment
	for _, s := range found {
		ids[s.EnvironmentID] = append(ids[s.EnvironmentID], s.ID)
	}
	for _, environment := range slices.Sorted(maps.Keys(ids)) {
		args["environment"], args["ids"] = environment, ids[environment]
		moved, err := pg.Change[models.Session](ctx, q.AsStored(), "environment_id = @environment and id in @ids and "+over, "status = 'expired', ended_at = @at", args)
		if err != nil {
			return nil, err
		}
		expired = append(expired, moved...)
	}
	return expired, nil
}

// FrameContext is the data that processing a frame needs, read in one round trip. Of the session and the subject, it has what
// scoring a frame reads, SaveFrame writes and the MACs cover: no time of the end of the session.
type FrameContext struct {
	identity.SubjectSession
	Prior *models.Frame // status and reasons of the frame with this id; nil if the session has none
	Seen  Sighting      // whether the environment has a frame with this digest
	AsOf  FrameVersions // of the rows that SaveFrame changes
	place [placeSize]byte
}

// FrameVersions are the versions of a session and of the newest block of its subject's passages.
type FrameVersions struct {
	session int64
	typed   bool // there is a block
	newest  int  // its number
	block   int64
}

// Sighting is where a frame with the same features was seen before, however long ago.
type Sighting int

// The sightings.
const (
	NotSeen Sighting = iota
	SeenInSession
	SeenElsewhere // in another session, of the same subject or another
)

// FrameLookup says what ForFrame reads about a frame.
type FrameLookup struct {
	ID     string
	Digest []byte // looked up in the whole environment, unless it is empty
	// Begin is called before anything is received, and again if all of it is read again. It returns memory for the state of the
	// session, which is allocated if it is longer.
	Begin func() []byte
	// Templates receives the subject's active templates, with their id, environment, model version and data only. The data is valid
	// until it returns. nil reads no templates.
	Templates func(t models.Template) error
	// Passages receives the blocks of passages that the subject typed on the session's class of device, oldest first. place is
	// the associated data of the sealed block. The bytes are valid until it returns. nil reads no passages.
	Passages func(place []byte, block int, sealed []byte) error
}

// placeSize suffices for the place of any block.
const placeSize = 64

const typedOfSession = `select p.block, p.passages, p.version from sessions s
	join typed_passages p on p.environment_id = s.environment_id and p.subject_uid = s.subject_uid and p.device_class = s.device_class
	where s.tenant_id = $1 and s.environment_id = $2 and s.id = $3 order by p.block`

var readForFrame = `select ses.version, ses.id, ses.subject_uid, ses.device_class, ses.status, ses.last_activity_at, ses.last_evidence_at,
	ses.coverage, ses.evidence_windows, ses.active_seconds, ses.modalities, ses.enrollment_ready, ses.trust_state, ses.state,
	ses.legacy, ses.started_at, ses.row_mac,
	p.frame_id, p.status, p.reason_codes, d.session_id, ` + subjectrow.Columns + ", " + pg.TableOf("sessions").Ended("ses", "$2") + `
	from sessions ses` + subjectrow.Join("ses") + " and " + subjectrow.NotErasing + `
		and ` + pg.NotEndedIn("subjects", "s", "$2") + `
	left join frames p on p.environment_id = $2 and p.session_id = ses.id and p.frame_id = $4
	left join frame_digests d on d.environment_id = $2 and d.digest = substr(coalesce($5::bytea, ''), 1, 16)
	where ses.tenant_id = $1 and ses.environment_id = $2 and ses.id = $3`

// ForFrame returns a session and what is known of a frame, without a lock: SaveFrame stores nothing if the session has changed since.
//
// Templates are read by a statement of their own, because their data is more expensive as JSON in the same row. Every frame pays
// for each column and each copy: a column that scoring does not need is not read.
func ForFrame(ctx context.Context, q *pg.Q, s pg.Scope, id string, f FrameLookup) (FrameContext, error) {
	r := frameReader{lookup: f, scope: s}
	b := &pgx.Batch{}
	b.Queue(readForFrame, s.Tenant, s.Environment, id, f.ID, f.Digest).QueryRow(r.scan)
	if f.Templates != nil {
		b.Queue(backgrounds.TemplatesOfSession, s.Tenant, s.Environment, id).Query(r.templates)
	}
	if f.Passages != nil {
		b.Queue(typedOfSession, s.Tenant, s.Environment, id).Query(r.blocks)
	}
	err := q.Batch(ctx, b)
	if errors.Is(err, sql.ErrNoRows) {
		return r.FrameContext, pg.ErrNotFound
	}
	if err == nil {
		err = errors.Join(pg.Verify(ctx, q, r.Subject), pg.Verify(ctx, q, r.Session))
	}
	if err == nil && r.putBack {
		q.NotePutBack(s, "sessions", id)
		r.Session.Status = models.SessionEnded
	}
	return r.FrameContext, err
}

// frameReader receives what ForFrame reads.
type frameReader struct {
	FrameContext
	lookup  FrameLookup
	scope   pg.Scope
	putBack bool // the row of the session is an earlier copy
}

// templates passes the templates with their data as it was received, without a copy. Those of a session that is not found, because its
// subject is being erased, are not passed.
func (r *frameReader) templates(rows pgx.Rows) error {
	for r.Session.ID != "" && rows.Next() {
		raw := rows.RawValues()
		if rows.FieldDescriptions()[2].Format != pgx.BinaryFormatCode {
			return errors.New("session: templates must be in the binary format")
		}
		t := models.Template{EnvironmentID: r.scope.Environment, SubjectUID: r.Session.SubjectUID, ID: string(raw[0]), ModelVersion: string(raw[1]), Data: raw[2]}
		if err := r.lookup.Templates(t); err != nil {
			return err
		}
	}
	return rows.Err()
}

// blocks passes the blocks as they were received, without a copy: a frame can read a hundred kilobytes of them. Their places are
// formatted here, which takes Postgres as long as reading the blocks.
func (r *frameReader) blocks(rows pgx.Rows) error {
	place := assurance.AppendPlace(r.place[:0], r.Session.SubjectUID, r.Session.DeviceClass)
	for r.Session.ID != "" && rows.Next() {
		raw := rows.RawValues()
		for _, f := range rows.FieldDescriptions() {
			if f.Format != pgx.BinaryFormatCode {
				return errors.New("session: blocks of passages must be in the binary format")
			}
		}
		block := int(int32(binary.BigEndian.Uint32(raw[0]))) // #nosec G115 -- an integer column
		if err := r.lookup.Passages(strconv.AppendInt(place, int64(block), 10), block, raw[1]); err != nil {
			return err
		}
		r.AsOf.typed, r.AsOf.newest, r.AsOf.block = true, block, int64(binary.BigEndian.Uint64(raw[2])) // #nosec G115 -- a bigint column
	}
	return rows.Err()
}

func (r *frameReader) scan(row pgx.Row) error {
	r.FrameContext = FrameContext{SubjectSession: identity.SubjectSession{
		Subject: models.Subject{TenantID: r.scope.Tenant, EnvironmentID: r.scope.Environment},
		Session: models.Session{TenantID: r.scope.Tenant, EnvironmentID: r.scope.Environment},
	}}
	if r.lookup.Begin != nil {
		r.Session.State = r.lookup.Begin()
	}
	var frame, status, seen pgtype.Text
	var reasons []string
	e, u := &r.Session, &r.Subject
	err := row.Scan(append(append([]any{&r.AsOf.session, &e.ID, &e.SubjectUID, &e.DeviceClass, (*string)(&e.Status), &e.LastActivityAt, &e.LastEvidenceAt,
		&e.Coverage, &e.EvidenceWindows, &e.ActiveSeconds, (*[]string)(&e.Modalities), &e.EnrollmentReady, &e.TrustState, (*pgtype.PreallocBytes)(&e.State),
		&e.Legacy, &e.StartedAt, &e.RowMAC,
		&frame, &status, &reasons, &seen}, subjectrow.Fields(u)...), &r.putBack)...)
	u.UID = e.SubjectUID
	if status.Valid {
		r.Prior = &models.Frame{SessionID: e.ID, FrameID: frame.String, Status: status.String, ReasonCodes: reasons}
	}
	switch {
	case seen.Valid && seen.String == e.ID:
		r.Seen = SeenInSession
	case seen.Valid:
		r.Seen = SeenElsewhere
	}
	return err
}

// FrameRecord is a frame to store, with its digest and passages.
type FrameRecord struct {
	models.Frame
	AsOf     FrameVersions           // of the FrameContext that the frame was processed with
	Remember bool                    // store the digest for the whole environment
	Passages *assurance.PassageBlock // nil if the frame completed no passage
}

// passageBlocks is the number of blocks of passages that are stored for a subject and class of device. Older ones are
// deleted.
const passageBlocks = 64

// unchangedSession and unchangedBlock fail unless the row is as it was read, and keep it so until the transaction ends.
var (
	unchangedSession = `select guard(count(*) > 0) from (select from sessions e` + subjectrow.Join("e") + " and " + subjectrow.NotErasing + `
		where e.environment_id = $1 and e.id = $2 and e.version = $3 and e.status = 'active' for no key update of e) unchanged`
	unchangedBlock = `select guard(count(*) > 0) from (select from typed_passages where environment_id = $1 and subject_uid = $2 and device_class = $3
		and block = $4 and version = $5 for no key update) unchanged`
)

// SaveFrame stores a frame and the changed fields of its session in one transaction, whose statements are sent together. It returns
// false, and has stored nothing, if the session or the newest block of passages has changed since ForFrame read it: the caller reads
// and scores again. A frame that was sent twice at once violates frames_pkey, or frame_digests_pkey if it was sent to two sessions. In a
// caller's transaction, each of these ends it.
func SaveFrame(ctx context.Context, q *pg.Q, f FrameRecord, r models.Session) (bool, error) {
	b := &pgx.Batch{}
	b.Queue(unchangedSession, f.EnvironmentID, f.SessionID, f.AsOf.session)
	if f.Passages != nil {
		queuePassages(b, f, r.DeviceClass)
	}
	b.Queue(`insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at,
		duration_ms, digest, vector, keys) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		f.SessionID, f.FrameID, f.EnvironmentID, f.SubjectUID, f.Purpose, f.Status, f.ReasonCodes, f.ReceivedAt, f.At,
		f.DurationMS, f.Digest, f.Vector, f.Keys)
	if f.Remember {
		b.Queue(`insert into frame_digests (environment_id, digest, subject_uid, session_id, seen_at) values ($1, $2, $3, $4, $5)`,
			f.EnvironmentID, f.Digest[:rememberedSize], f.SubjectUID, f.SessionID, f.ReceivedAt)
	}
	b.Queue(`update sessions set version = version + 1, last_activity_at = $3, last_evidence_at = $4, coverage = $5, evidence_windows = $6,
		active_seconds = $7, modalities = $8, enrollment_ready = $9, trust_state = $10, state = $11 where environment_id = $1 and id = $2`,
		f.EnvironmentID, f.SessionID, r.LastActivityAt, r.LastEvidenceAt, r.Coverage, r.EvidenceWindows,
		r.ActiveSeconds, r.Modalities, r.EnrollmentReady, r.TrustState, r.State)
	err := q.Transaction(ctx, b)
	if pg.Changed(err) || pg.Violates(err, "typed_passages_pkey") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("session: save the frame: %w", err)
	}
	return true, nil
}

// rememberedSize is the number of bytes of a frame's digest that the environment remembers.
const rememberedSize = 16

// queuePassages writes the newest block of passages, which is one that was read or a new one, and deletes those that are too many.
func queuePassages(b *pgx.Batch, f FrameRecord, device string) {
	p := f.Passages
	if f.AsOf.typed && p.Block == f.AsOf.newest {
		b.Queue(unchangedBlock, f.EnvironmentID, f.SubjectUID, device, p.Block, f.AsOf.block)
		b.Queue(`update typed_passages set version = version + 1, passages = $5, updated_at = $6
			where environment_id = $1 and subject_uid = $2 and device_class = $3 and block = $4`,
			f.EnvironmentID, f.SubjectUID, device, p.Block, p.Sealed, f.ReceivedAt)
		return
	}
	b.Queue(`insert into typed_passages (environment_id, subject_uid, device_class, block, passages, updated_at) values ($1, $2, $3, $4, $5, $6)`,
		f.EnvironmentID, f.SubjectUID, device, p.Block, p.Sealed, f.ReceivedAt)
	b.Queue(`delete from typed_passages where environment_id = $1 and subject_uid = $2 and device_class = $3 and block <= $4`,
		f.EnvironmentID, f.SubjectUID, device, p.Block-passageBlocks)
}
