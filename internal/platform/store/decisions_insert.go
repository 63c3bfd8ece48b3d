package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// Decision is every row that one decision writes.
type Decision struct {
	Authorization models.Authorization
	Proof         *models.Proof
	Challenge     *models.Challenge
	Hold          *models.Hold
	Teams         []models.HoldTeam // of Hold
	Details       *models.ShownDetails
	Kept          *models.KeptValues
	Events        []models.Event  // announced to webhooks
	Outbox        []models.Outbox // workflows to start
	// SubjectAsOf is the updated_at of the subject that was decided about.
	SubjectAsOf time.Time
}

// Insert writes a decision in one statement, all of it or nothing. It returns false if the subject has changed since
// SubjectAsOf (it may have been revoked): the caller reads the facts again and decides again. A reused idempotency key or
// nonce violates authorizations_idempotency or authorizations_nonce.
//
// A first decision is written together with those of other requests: its idempotency key shows whether it has been written. It does not wait
// for a lock of its subject then, for which the others would wait too: if there is one, nothing is written, and it is written by itself.
func (q Decisions) Insert(ctx context.Context, d *Decision) (bool, error) {
	if q.groups.writes == nil || d.Authorization.IdempotencyKey == nil {
		return q.insert(ctx, d, nil)
	}
	written, err := q.insert(ctx, d, q.groups.writes)
	if !written && err == nil {
		written, err = q.insert(ctx, d, nil)
	}
	if Violates(err, "authorizations_pkey") {
		return true, nil // the connection was lost after the commit of its group: no other decision has the id
	}
	return written, err
}

func (q Decisions) insert(ctx context.Context, d *Decision, with *group) (bool, error) {
	as, digests := q.formOf(ctx, d.Authorization.DecidedAt), []byte(nil)
	if as.bytes {
		digests = d.Authorization.PackDigests()
	}
	shape := shapeOf(d)
	shape.distributed, shape.keys = q.distributed, q.division.formOf(&d.Authorization)
	shape.record, shape.digests, shape.grouped = as.record, digests != nil, with != nil
	s := statement{args: make([]any, 0, decisionArgs)}
	if known, ok := decisionTexts.Load(shape); ok {
		s.known, _ = known.(string)
	}
	a := &d.Authorization
	s.args = append(s.args, roomyOf(&a.SubjectUID), textOf(&a.EnvironmentID), textOf(&a.TenantID), textOf(&a.ID), timeOf(&d.SubjectAsOf)) // $1 to $5
	if s.known == "" {
		s.with("guard", `select 1 from subjects where uid = $1 and environment_id`+q.noIndex()+` = $2 and updated_at = $5`+shape.keys.guard()+shape.lock())
	}
	s.insertAuthorization(a, as, digests)
	if shape.keys == keysWritten {
		s.insertKeys(&d.Authorization)
	}
	if d.Proof != nil {
		s.insertProof(d.Proof)
	}
	if d.Challenge != nil {
		s.insertChallenge(*d.Challenge)
	}
	if d.Hold != nil {
		s.insertHold(*d.Hold)
	}
	for i, t := range d.Teams {
		s.insertHoldTeam("htm"+strconv.Itoa(i), t)
	}
	if d.Details != nil {
		s.insertDetails(*d.Details)
	}
	if d.Kept != nil {
		s.insertKept(*d.Kept)
	}
	s.insertDecisionEvents(d.Events, q.causes(), as)
	for i, o := range d.Outbox {
		s.insert("o"+strconv.Itoa(i), "outbox", "topic, environment_id, ref, payload, created_at, available_at",
			o.Topic, o.EnvironmentID, o.Ref, o.Payload, o.CreatedAt, o.AvailableAt)
	}
	if s.known == "" {
		s.known = s.text() + " select count(*) from azn"
		decisionTexts.Store(shape, s.known)
	}
	var written int
	err := q.grouped(ctx, with, &grouped{query: s.known, args: s.args, scan: func(row pgx.Row) error { return row.Scan(&written) }})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil && written == 0 && shape.keys == keysOfTable {
		// The first statement of a process after decisions were divided.
		if err = q.readDivision(ctx); err == nil && q.division.level.Load() > undivided {
			return q.insert(ctx, d, with)
		}
	}
	return written == 1, err
}

// decisionArgs is the number of arguments that most decisions do not exceed. pgx reuses its lists of up to as many.
const decisionArgs = 64

// decisionShape is everything that the text of a decision's statement depends on.
type decisionShape struct {
	proof, challenge, hold, details, kept bool
	teams, events, outbox                 int
	distributed, record, digests, grouped bool
	keys                                  keyForm
}

// lock keeps the subject as it is until the decision is written.
func (s decisionShape) lock() string {
	if s.grouped {
		return " for share skip locked"
	}
	return " for share"
}

func shapeOf(d *Decision) decisionShape {
	return decisionShape{
		proof: d.Proof != nil, challenge: d.Challenge != nil, hold: d.Hold != nil, details: d.Details != nil, kept: d.Kept != nil,
		teams: len(d.Teams), events: len(d.Events), outbox: len(d.Outbox),
	}
}

// decisionTexts are the texts of the statements by shape. A text is built once: it consists of a hundred strings. The number of shapes
// is bounded by the limits on teams, events and workflows of one decision.
var decisionTexts sync.Map

// statement builds one statement from inserts that are common table expressions. An insert selects from the expression
// guard and so inserts nothing if the guard finds no row.
type statement struct {
	known string // the text, if it is known: only the arguments are collected then
	parts []string
	args  []any
}

// arg adds an argument and returns its placeholder; nothing if the text is known.
func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	if s.known != "" {
		return ""
	}
	return "$" + strconv.Itoa(len(s.args))
}

func (s *statement) with(name, query string) {
	if s.known == "" {
		s.parts = append(s.parts, name+" as ("+query+")")
	}
}

// mark is a value that stands in the text of the statement: an argument that several rows have and that is sent once, or null.
type mark string

const (
	subjectMark       mark = "$1::text"
	environmentMark   mark = "$2::text"
	tenantMark        mark = "$3::text"
	authorizationMark mark = "$4::text"
	nullMark          mark = "null"
)

// marks adds the values that are arguments and returns all as they stand in the text; nothing if the text is known.
func (s *statement) marks(values []any) []string {
	if s.known != "" {
		for _, v := range values {
			if _, is := v.(mark); !is {
				s.args = append(s.args, v)
			}
		}
		return nil
	}
	out := make([]string, len(values))
	for i, v := range values {
		if m, is := v.(mark); is {
			out[i] = string(m)
		} else {
			out[i] = s.arg(v)
		}
	}
	return out
}

func (s *statement) insert(name, table, columns string, values ...any) {
	marks := s.marks(values)
	if s.known != "" {
		return
	}
	s.with(name, "insert into "+table+" ("+columns+") select "+strings.Join(marks, ", ")+" from guard returning 1")
}

func (s *statement) text() string { return "with " + strings.Join(s.parts, ",\n") }

// recordSince is the schema version since which binaries read the documents of a decision from its record, bytesSince the one since which
// they read digests and ids as bytes.
const (
	recordSince = 55
	bytesSince  = 65
)

// form is how a decision is written: as every binary that runs reads it.
type form struct{ record, bytes bool }

func (q *Q) formOf(ctx context.Context, now time.Time) form {
	if q.contracted(ctx, bytesSince, now) {
		return form{record: true, bytes: true}
	}
	return form{record: q.contracted(ctx, recordSince, now)}
}

// insertAuthorization writes the documents as one record and the digests as one value, or in the columns that older binaries read.
func (s *statement) insertAuthorization(a *models.Authorization, as form, digests []byte) {
	var assurance, explanation, response, record any = nullMark, nullMark, nullMark, nullMark
	if as.record {
		record = a.PackFor(as.bytes)
	} else {
		assurance, explanation, response = a.Assurance, a.Explanation, a.Response
	}
	var packed, resource, context, action, policy any = nullMark, nullMark, nullMark, nullMark, nullMark
	if digests != nil {
		packed = digests
	} else {
		resource, context, action, policy = textOf(&a.ResourceDigest), textOf(&a.ContextDigest), textOf(&a.ActionHash), textOf(&a.PolicyHash)
	}
	s.insert("azn", "authorizations", `id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, session_id,
		parent_id, actor, resource_type, resource_digest, context_digest, action_hash, audience, nonce, idempotency_key,
		request_hash, requested_at, decided_at, latency_ms, trace_id, mode, decision, reason_codes, policy_version,
		policy_hash, digests, coverage, insufficient, operator_changed, challenges_used, challenge_completed, hold_approved,
		assurance, explanation, response, record, session_pinned`,
		authorizationMark, tenantMark, environmentMark, textOf(&a.CredentialID), textOf(&a.ActionID), textOf(&a.ActionKey),
		subjectMark, textOf(a.SessionID), textOf(a.ParentID), textOf(&a.Actor), textOf(&a.ResourceType), resource,
		context, action, textOf(&a.Audience), textOf(&a.Nonce), textOf(a.IdempotencyKey),
		bytesOf(&a.RequestHash), timeOf(&a.RequestedAt), timeOf(&a.DecidedAt), a.LatencyMS, textOf(&a.TraceID), (*textArg)(&a.Mode),
		textOf(&a.Decision), listOf(&a.ReasonCodes), a.PolicyVersion, policy, packed, textOf(&a.Coverage), a.Insufficient,
		a.OperatorChanged, a.ChallengesUsed, textOf(a.ChallengeCompleted), a.HoldApproved, assurance, explanation, response, record,
		a.SessionPinned)
}

func (s *statement) insertProof(p *models.Proof) {
	s.insert("prf", "proofs", `jti, tenant_id, environment_id, authorization_id, subject_uid, kid, audience, status, compact,
		issued_at, expires_at, sealed`,
		textOf(&p.JTI), tenantMark, environmentMark, authorizationMark, subjectMark, textOf(&p.KID),
		textOf(&p.Audience), (*textArg)(&p.Status), textOf(p.Compact), timeOf(&p.IssuedAt), timeOf(&p.ExpiresAt), bytesOf(&p.Sealed))
}

func (s *statement) insertChallenge(c models.Challenge) {
	s.insert("chl", "challenges", `id, tenant_id, environment_id, authorization_id, subject_uid, status, methods, display,
		display_digest, action_hash, random, created_at, expires_at`,
		c.ID, c.TenantID, c.EnvironmentID, c.AuthorizationID, c.SubjectUID, string(c.Status), c.Methods, c.Display,
		c.DisplayDigest, c.ActionHash, c.Random, c.CreatedAt, c.ExpiresAt)
}

func (s *statement) insertHold(h models.Hold) {
	s.insert("hld", "holds", `authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status,
		approvals_required, self_review_barred, opened_at, remind_at, due_at`,
		h.AuthorizationID, h.TenantID, h.EnvironmentID, h.ActionID, h.SubjectUID, h.RiskClass, string(h.Status),
		h.ApprovalsRequired, h.SelfReviewBarred, h.OpenedAt, h.RemindAt, h.DueAt)
	// Only environments whose staff want notices pay for them.
	s.with("ntc", `insert into outbox (topic, environment_id, ref, payload, created_at, available_at)
		select 'notice', `+s.typed("text", h.EnvironmentID, h.AuthorizationID)+`, '{"kind":"opened"}', t, t
		from guard, (select `+s.typed("timestamptz", h.OpenedAt)+` as t) opened
		where exists (select 1 from notice_choices where environment_id = `+s.arg(h.EnvironmentID)+`::text) returning 1`)
}

func (s *statement) insertDetails(d models.ShownDetails) {
	s.insert("shd", "shown_details", "authorization_id, tenant_id, environment_id, subject_uid, details, decided_at",
		d.AuthorizationID, d.TenantID, d.EnvironmentID, d.SubjectUID, d.Details, d.DecidedAt)
}

func (s *statement) insertKept(k models.KeptValues) {
	s.insert("kpt", "kept_values", "authorization_id, tenant_id, environment_id, subject_uid, kept, decided_at",
		k.AuthorizationID, k.TenantID, k.EnvironmentID, k.SubjectUID, k.Kept, k.DecidedAt)
}

// insertDecisionEvents inserts the events in one statement, in their order. Postgres runs the expressions of a statement
// in no specified order, so that one insert for each event could number the events in any order. Here the rows are sorted
// before they are numbered, and the outbox rows follow those numbers.
func (s *statement) insertDecisionEvents(entries []models.Event, causes causes, as form) {
	if len(entries) == 0 {
		return
	}
	rows := make([]string, 0, len(entries))
	for i := range entries { // also for a known text, to collect the arguments
		e := &entries[i]
		data, packed := []byte(e.Data), []byte(nil)
		if as.bytes {
			packed = e.Pack()
		}
		if packed != nil {
			data = nil
		}
		rows = append(rows, s.tuple(s.place(i), s.typed("text", textOf(&e.ID), tenantMark, environmentMark, textOf(&e.Type)),
			s.typed("timestamptz", timeOf(&e.At)), s.typed("text", textOf(e.SubjectUID), textOf(e.Subject), textOf(e.Action),
				textOf(e.AuthorizationID), textOf(e.Decision), textOf(&e.Actor), textOf(e.RequestID), textOf(e.WorkflowID)),
			s.typed("jsonb", data), s.typed("bytea", bytesOf(&e.Salt), bytesOf(&e.Digest)), s.typed("text", textOf(causes.of(*e))),
			s.typed("bytea", packed)))
	}
	if s.known != "" {
		return
	}
	s.with("evt", `insert into events (`+eventColumns+`, packed) select `+eventColumns+`, packed from guard cross join (values `+strings.Join(rows, ", ")+`)
		as v (place, `+eventColumns+`, packed) order by place returning seq, id, environment_id, at`)
	s.with("fan", `insert into outbox (topic, environment_id, ref, payload, created_at, available_at)
		select 'event', environment_id, id, '{}', at, at from evt where exists (select 1 from webhook_endpoints w
		where w.environment_id = evt.environment_id and w.status = 'enabled' and w.deleted_at is null) order by seq returning 1`)
}

// tuple returns a row of VALUES; nothing if the text is known.
func (s *statement) tuple(columns ...string) string {
	if s.known != "" {
		return ""
	}
	return "(" + strings.Join(columns, ", ") + ")"
}

// typed adds arguments and returns their placeholders with a cast. The columns of VALUES have no type of their own,
// unlike those of an insert.
func (s *statement) typed(as string, values ...any) string {
	marks := s.marks(values)
	if s.known != "" {
		return ""
	}
	return strings.Join(marks, "::"+as+", ") + "::" + as
}

// place returns the number of a row, which is a part of the text.
func (s *statement) place(i int) string {
	if s.known != "" {
		return ""
	}
	return strconv.Itoa(i)
}
