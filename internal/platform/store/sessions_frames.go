package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/countersign-dev/countersign/models"
)

// FrameContext is the data that processing a frame needs, read in one round trip. Of the session and the subject, it has what
// scoring a frame reads and SaveFrame writes: no times of their beginning and end, and no other settings of the subject.
type FrameContext struct {
	SubjectSession
	Prior *models.Frame // status and reasons of the frame with this id; nil if the session has none
	Seen  Sighting      // whether the environment has a frame with this digest
	AsOf  FrameVersions // of the rows that SaveFrame changes
	place [placeSize]byte
}

// FrameVersions are the versions of a session and of the newest block of its subject's passages. The zero value is that of locked rows.
type FrameVersions struct {
	read           bool // without a lock
	session, block uint32
	newest         int // number of the block; its version is 0 if there is none
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

// PassagePlace returns the associated data that a block of passages is sealed with.
func PassagePlace(subjectUID, device string, block int) string {
	return string(strconv.AppendInt(appendPlace(nil, subjectUID, device), int64(block), 10))
}

// placeSize suffices for the place of any block.
const placeSize = 64

// appendPlace appends the place of a subject's blocks, which a block's number completes.
func appendPlace(out []byte, subjectUID, device string) []byte {
	return append(append(append(append(out, subjectUID...), '/'), device...), '/')
}

const typedOfSession = ` from sessions s
	join typed_passages p on p.environment_id = s.environment_id and p.subject_uid = s.subject_uid and p.device_class = s.device_class
	where s.tenant_id = $1 and s.environment_id = $2 and s.id = $3 order by p.block`

// The rows that a frame changes are locked, or have a version, which is the transaction that wrote it.
const (
	readForFrame = `select ses.xmin, ` + frameColumns

	// The statements after it have a later snapshot: they see the blocks that the previous frame of the subject wrote while this one waited
	// for its lock ($6), which it takes before that of the session.
	lockForFrame = `select case when $6::boolean then pg_advisory_xact_lock(` + lockOfPassages + `) end, ` + frameColumns + ` for update of ses`

	lockOfPassages = `hashtextextended(ses.subject_uid || '/' || ses.device_class, 30)`

	frameColumns = `ses.id, ses.subject_uid, ses.device_class, ses.status, ses.last_activity_at, ses.last_evidence_at,
	ses.coverage, ses.evidence_windows, ses.active_seconds, ses.modalities, ses.enrollment_ready, ses.trust_state, ses.state,
	s.external_id, s.status, s.enrollment, s.research_consent, s.claim_cap_until,
	p.frame_id, p.status, p.reason_codes, d.session_id
	from sessions ses join subjects s on s.uid = ses.subject_uid and s.environment_id || '' = $2 and s.status <> 'erasing'
	left join frames p on p.session_id = ses.id and p.environment_id || '' = $2 and p.frame_id = $4
	left join frame_digests d on d.environment_id = $2 and d.digest = substr($5::bytea, 1, 16)
	where ses.tenant_id = $1 and ses.environment_id = $2 and ses.id = $3`
)

// Unlocked reports whether ForFrame reads without locking: outside of a transaction, on one server.
func (q Sessions) Unlocked() bool { return q.groups.frameReads != nil }

// ForFrame returns a session and what is known of a frame.
//
// In a transaction it locks the session until the transaction ends, so that its frames are processed one at a time. If it reads
// passages, it locks those of the subject on the class of device too. A caller that waited for the lock sees the present session,
// but frames as of before the wait. If it is Unlocked, it reads together with other frames, and SaveFrame stores nothing if a row has
// changed since. In both cases a frame that was sent twice at once violates frames_pkey, or frame_digests_pkey if it was sent to two
// sessions, and the caller must retry.
//
// Templates are read by a statement of their own, because their data is more expensive as JSON in the same row. Every frame pays
// for each column and each copy: a column that scoring does not need is not read.
func (q Sessions) ForFrame(ctx context.Context, s Scope, id string, f FrameLookup) (FrameContext, error) {
	r := frameReader{lookup: f, scope: s, locks: !q.Unlocked()}
	of := []any{textOf(&s.Tenant), textOf(&s.Environment), textOf(&id)}
	read := grouped{query: q.text(readForFrame), args: append(of[:3:3], textOf(&f.ID), bytesOf(&f.Digest)), scan: r.scan}
	if r.locks {
		read.query, read.args = q.text(lockForFrame), append(read.args, f.Passages != nil)
	}
	b := &pgx.Batch{}
	if f.Templates != nil {
		b.Queue(templatesOfSession, of...).Query(r.templates)
	}
	if f.Passages != nil {
		columns := "select p.block, p.passages"
		if !r.locks {
			columns += ", p.xmin"
		}
		b.Queue(columns+typedOfSession, of...).Query(r.blocks)
	}
	read.behind = b.QueuedQueries
	err := q.grouped(ctx, q.groups.frameReads, &read)
	if errors.Is(err, sql.ErrNoRows) {
		return r.FrameContext, ErrNotFound
	}
	return r.FrameContext, err
}

// frameReader receives what ForFrame reads.
type frameReader struct {
	FrameContext
	lookup FrameLookup
	scope  Scope
	locks  bool
}

// templates passes the templates with their data as it was received, without a copy. Those of a session that is not found, because its
// subject is being erased, are not passed.
func (r *frameReader) templates(rows pgx.Rows) error {
	for r.Session.ID != "" && rows.Next() {
		raw := rows.RawValues()
		if rows.FieldDescriptions()[2].Format != pgx.BinaryFormatCode {
			return errors.New("store: templates must be in the binary format")
		}
		t := models.Template{EnvironmentID: r.scope.Environment, ID: string(raw[0]), ModelVersion: string(raw[1]), Data: raw[2]}
		if err := r.lookup.Templates(t); err != nil {
			return err
		}
	}
	return rows.Err()
}

// blocks passes the blocks as they were received, without a copy: a frame can read a hundred kilobytes of them. Their places are
// formatted here, which takes Postgres as long as reading the blocks.
func (r *frameReader) blocks(rows pgx.Rows) error {
	place := appendPlace(r.place[:0], r.Session.SubjectUID, r.Session.DeviceClass)
	for r.Session.ID != "" && rows.Next() {
		raw := rows.RawValues()
		for _, f := range rows.FieldDescriptions() {
			if f.Format != pgx.BinaryFormatCode {
				return errors.New("store: blocks of passages must be in the binary format")
			}
		}
		block := int(int32(binary.BigEndian.Uint32(raw[0]))) // #nosec G115 -- an integer column
		if err := r.lookup.Passages(strconv.AppendInt(place, int64(block), 10), block, raw[1]); err != nil {
			return err
		}
		if !r.locks {
			r.AsOf.newest, r.AsOf.block = block, binary.BigEndian.Uint32(raw[2])
		}
	}
	return rows.Err()
}

func (r *frameReader) scan(row pgx.Row) error {
	r.FrameContext = FrameContext{SubjectSession: SubjectSession{
		Subject: models.Subject{TenantID: r.scope.Tenant, EnvironmentID: r.scope.Environment},
		Session: models.Session{TenantID: r.scope.Tenant, EnvironmentID: r.scope.Environment},
	}}
	var version any // the lock has none
	if !r.locks {
		r.AsOf.read, version = true, &r.AsOf.session
	}
	if r.lookup.Begin != nil {
		r.Session.State = r.lookup.Begin()
	}
	var frame, status, seen pgtype.Text
	var reasons []string
	e, u := &r.Session, &r.Subject
	err := row.Scan(version, &e.ID, &e.SubjectUID, &e.DeviceClass, (*string)(&e.Status), &e.LastActivityAt, &e.LastEvidenceAt,
		&e.Coverage, &e.EvidenceWindows, &e.ActiveSeconds, (*[]string)(&e.Modalities), &e.EnrollmentReady, &e.TrustState, (*pgtype.PreallocBytes)(&e.State),
		&u.ExternalID, (*string)(&u.Status), (*string)(&u.Enrollment), &u.ResearchConsent, &u.ClaimCapUntil,
		&frame, &status, &reasons, &seen)
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
	AsOf     FrameVersions // of the FrameContext that the frame was processed with
	Remember bool          // store the digest for the whole environment
	Passages *PassageBlock // nil if the frame completed no passage
}

// PassageBlock is the newest block of a subject's passages, including the one of the frame.
type PassageBlock struct {
	Block  int
	Sealed []byte
}

// passageBlocks is the number of blocks of passages that are stored for a subject and class of device. Older ones are
// deleted.
const passageBlocks = 64

// The statements of SaveFrame: for rows that are locked, and for rows as of a version. The second waits for no lock that another transaction
// has, and changes nothing then: neither for rows that it changes, nor for the subject, which foreign keys lock, nor for the same digest. What
// it checks of the block is the row as it is, however old the snapshot of the statement.
var (
	saveFrame     = savingFrame("", "", "")
	saveFrameAsOf = savingFrame(`mine as (select 1 from sessions ses
		join subjects s on s.uid = ses.subject_uid and s.environment_id || '' = $3 and s.status <> 'erasing'
		where ses.id = $1 and ses.environment_id || '' = $3 and ses.status = 'active' and ses.xmin = $28
			and ($17::bytea is null or pg_try_advisory_xact_lock(`+lockOfPassages+`))
			and (not $14::boolean or pg_try_advisory_xact_lock(hashtextextended($3 || encode($11::bytea, 'hex'), 31)))
		for no key update of ses skip locked for key share of s skip locked),`,
		`where typed_passages.xmin = $29 returning 1`,
		`kept as (select 1 from mine where $17::bytea is null or exists (select 1 from typed)),`)
)

// savingFrame returns a statement that writes what a frame changes, from rows that are its own: mine, and kept if the block could be written.
func savingFrame(mine, unchanged, kept string) string {
	fromMine, fromKept, ifKept, returning := "", "", "", ""
	if mine != "" {
		fromMine, fromKept, ifKept, returning = "from mine", "from kept", " and exists (select 1 from kept)", " returning 1"
	}
	return `with ` + mine + ` typed as (insert into typed_passages (environment_id, subject_uid, device_class, block, passages, updated_at)
		select $3, $4, $15, $16::integer, $17::bytea, $8 ` + fromMine + ` where $17 is not null
		on conflict (environment_id, subject_uid, device_class, block) do update set passages = excluded.passages, updated_at = excluded.updated_at
		` + unchanged + `), ` + kept + `
	taken as (insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status,
		reason_codes, received_at, at, duration_ms, digest, vector, keys)
		select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 ` + fromKept + `),
	known as (insert into frame_digests (environment_id, digest, subject_uid, session_id, seen_at)
		select $3, substr($11::bytea, 1, 16), $4, $1, $8 ` + fromKept + ` where $14::boolean),
	forgotten as (delete from typed_passages where environment_id = $3 and subject_uid = $4 and device_class = $15 and block <= $18::integer` + ifKept + `)
	update sessions set last_activity_at = $19, last_evidence_at = $20, coverage = $21, evidence_windows = $22,
	active_seconds = $23, modalities = $24, enrollment_ready = $25, trust_state = $26, state = $27
	where id = $1 and environment_id || '' = $3 and status = 'active'` + ifKept + returning
}

// SaveFrame stores a frame and the changed fields of its session. If the rows were locked, it does so with the commit (see
// Q.atCommit). If they were not, it stores all of it or nothing, together with other frames, and returns false if a row has changed
// since it was read, or is locked. A violation of frames_pkey or frame_digests_pkey is an error of Write, or of SaveFrame.
func (q Sessions) SaveFrame(ctx context.Context, f FrameRecord, r models.Session) (bool, error) {
	var block, forgotten *int
	var sealed []byte
	if p := f.Passages; p != nil {
		oldest := p.Block - passageBlocks
		block, sealed, forgotten = &p.Block, p.Sealed, &oldest
	}
	s := commitStatement{"save the frame", q.text(saveFrame), []any{
		roomyOf(&f.SessionID), textOf(&f.FrameID), textOf(&f.EnvironmentID), textOf(&f.SubjectUID), textOf(&f.Purpose), textOf(&f.Status),
		listOf(&f.ReasonCodes), timeOf(&f.ReceivedAt), timeOf(&f.At), f.DurationMS, bytesOf(&f.Digest), bytesOf(&f.Vector), f.Keys,
		f.Remember, textOf(&r.DeviceClass), block, sealed, forgotten, timeOf(&r.LastActivityAt), timeOf(r.LastEvidenceAt),
		textOf(&r.Coverage), r.EvidenceWindows, r.ActiveSeconds, listOf(&r.Modalities), r.EnrollmentReady, textOf(&r.TrustState),
		bytesOf(&r.State),
	}}
	if !f.AsOf.read {
		return true, q.atCommit(ctx, s)
	}
	var version uint32 // of a block that must not exist
	if block != nil && *block == f.AsOf.newest {
		version = f.AsOf.block
	}
	write := grouped{query: saveFrameAsOf, args: append(s.args, f.AsOf.session, version), scan: func(row pgx.Row) error {
		var saved int
		return row.Scan(&saved)
	}}
	err := q.grouped(ctx, q.groups.frameWrites, &write)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, s.wrap(err)
}
