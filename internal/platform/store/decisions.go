package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// Facts is what a decision is made from, read in one statement.
type Facts struct {
	Subject  models.Subject
	Session  *models.Session   // the pinned one, or the subject's latest; in whatever state it is
	Heads    []models.Template // active templates without their data
	Passkeys int               // usable ones
	Prior    *Prior            // what was answered to the same idempotency key before
}

// Prior is a stored answer.
type Prior struct {
	ID          string
	RequestHash []byte
	Response    []byte
	Sealed      []byte // the proof that Response was given with; nil if there is none, or if Response still has it
}

const factColumns = `
	s.uid, s.external_id, s.status, s.adaptation_frozen, s.claim_cap_until, s.updated_at,
	ses.id, ses.device_class, ses.status, ses.last_activity_at, ses.state,
	(select count(*) from passkeys p where p.subject_uid = s.uid and p.revoked_at is null),
	(select coalesce(json_agg(json_build_object('modality', t.modality, 'device', t.device_class, 'model', t.model_version,
		'provisional', t.provisional, 'limitations', t.limitations)), '[]')
		from templates t where t.subject_uid = s.uid and t.status = 'active')`

const factSession = `left join lateral (select id, device_class, status, last_activity_at, state from sessions
	where subject_uid = s.uid and ($4::text is null or id = $4) order by started_at desc, id desc limit 1) ses on true`

// FactsFor reads what a decision about a subject (by the relying party's id) needs, and any answer to the same
// idempotency key. Without subject and prior answer it is ErrNotFound; Session is nil where the pinned one is not the
// subject's. The prior answer's environment is compared in a form that no index has: of a young table, which it has no
// statistics of, the planner else takes an index that begins with the environment and walks all of its decisions.
func (q Decisions) FactsFor(ctx context.Context, s Scope, subject string, session *string, idempotencyKey string) (Facts, error) {
	row := q.queryRow(ctx, `select `+factColumns+`, prior.id, prior.request_hash, prior.response,
		case when prior.id is not null then (select p.sealed from proofs p where p.authorization_id = prior.id) end
		from (values (1)) one
		left join subjects s on s.tenant_id = $1 and s.environment_id = $2 and s.external_id = $3 and s.status <> 'erasing'
		`+factSession+`
		left join authorizations prior on prior.idempotency_key = $5 and prior.environment_id || '' = $2 and prior.parent_id is null`,
		s.Tenant, s.Environment, subject, session, idempotencyKey)
	f, err := scanFacts(row, s)
	if err == nil && f.Prior == nil && f.Subject.UID == "" {
		return f, ErrNotFound
	}
	return f, err
}

// FactsForFollowUp reads what deciding again about a subject (by our id) needs.
func (q Decisions) FactsForFollowUp(ctx context.Context, s Scope, subjectUID string, session *string) (Facts, error) {
	row := q.queryRow(ctx, `select `+factColumns+`, null::text, null::bytea, null::bytea, null::bytea from subjects s `+factSession+`
		where s.tenant_id = $1 and s.environment_id = $2 and s.uid = $3`, s.Tenant, s.Environment, subjectUID, session)
	f, err := scanFacts(row, s)
	return one(f, err)
}

func scanFacts(row pgx.Row, s Scope) (Facts, error) {
	var f Facts
	var uid, external, status, sesID, device, sesStatus, priorID sql.NullString
	var frozen sql.NullBool
	var updated, active sql.NullTime
	var state, heads, hash, response, sealed []byte
	if err := row.Scan(&uid, &external, &status, &frozen, &f.Subject.ClaimCapUntil, &updated, &sesID, &device, &sesStatus, &active, &state,
		&f.Passkeys, &heads, &priorID, &hash, &response, &sealed); err != nil {
		return f, err
	}
	f.Subject.UID, f.Subject.ExternalID, f.Subject.Status = uid.String, external.String, models.SubjectStatus(status.String)
	f.Subject.TenantID, f.Subject.EnvironmentID = s.Tenant, s.Environment
	f.Subject.AdaptationFrozen, f.Subject.UpdatedAt = frozen.Bool, updated.Time
	if sesID.Valid {
		f.Session = &models.Session{
			ID: sesID.String, TenantID: s.Tenant, EnvironmentID: s.Environment, SubjectUID: uid.String,
			DeviceClass: device.String, Status: models.SessionStatus(sesStatus.String), LastActivityAt: active.Time, State: state,
		}
	}
	if priorID.Valid {
		f.Prior = &Prior{ID: priorID.String, RequestHash: hash, Response: response, Sealed: sealed}
	}
	var err error
	f.Heads, err = decodeHeads(heads)
	return f, err
}

func decodeHeads(raw []byte) ([]models.Template, error) {
	var heads []struct {
		Modality    string         `json:"modality"`
		Device      string         `json:"device"`
		Model       string         `json:"model"`
		Provisional bool           `json:"provisional"`
		Limitations models.Strings `json:"limitations"`
	}
	if err := json.Unmarshal(raw, &heads); err != nil {
		return nil, fmt.Errorf("template heads: %w", err)
	}
	out := make([]models.Template, len(heads))
	for i, h := range heads {
		out[i] = models.Template{Modality: h.Modality, DeviceClass: h.Device, ModelVersion: h.Model, Provisional: h.Provisional, Limitations: h.Limitations}
	}
	return out, nil
}

// Decision is everything that one decision writes.
type Decision struct {
	Authorization models.Authorization
	Proof         *models.Proof
	Challenge     *models.Challenge
	Hold          *models.Hold
	Events        []models.Event  // announced to webhooks
	Outbox        []models.Outbox // runs to start
	// SubjectAsOf is the updated_at of the subject that was decided about.
	SubjectAsOf time.Time
}

// Insert writes a decision in one statement: all of it or nothing. It reports false where the subject has changed
// since SubjectAsOf (it may have been revoked): the caller reads and decides again. A reused idempotency key or nonce is
// a violation of authorizations_idempotency or authorizations_nonce.
func (q Decisions) Insert(ctx context.Context, d Decision) (bool, error) {
	var s statement
	s.with("guard", `select 1 from subjects where uid = `+s.arg(d.Authorization.SubjectUID)+` and updated_at = `+s.arg(d.SubjectAsOf)+` for share`)
	s.insertAuthorization(d.Authorization)
	if d.Proof != nil {
		s.insertProof(*d.Proof)
	}
	if d.Challenge != nil {
		s.insertChallenge(*d.Challenge)
	}
	if d.Hold != nil {
		s.insertHold(*d.Hold)
	}
	s.insertDecisionEvents(d.Events)
	for i, o := range d.Outbox {
		s.insert(fmt.Sprintf("o%d", i), "outbox", "topic, environment_id, ref, payload, created_at, available_at",
			o.Topic, o.EnvironmentID, o.Ref, o.Payload, o.CreatedAt, o.AvailableAt)
	}
	var written int
	err := q.queryRow(ctx, s.text()+" select count(*) from azn", s.args...).Scan(&written)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return written == 1, err
}

// statement gathers inserts as common table expressions of one statement.
type statement struct {
	parts []string
	args  []any
}

func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return fmt.Sprintf("$%d", len(s.args))
}

func (s *statement) with(name, query string) {
	s.parts = append(s.parts, name+" as ("+query+")")
}

func (s *statement) insert(name, table, columns string, values ...any) {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = s.arg(v)
	}
	s.with(name, "insert into "+table+" ("+columns+") select "+strings.Join(marks, ", ")+" from guard returning 1")
}

func (s *statement) text() string { return "with " + strings.Join(s.parts, ",\n") }

func (s *statement) insertAuthorization(a models.Authorization) {
	s.insert("azn", "authorizations", `id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, session_id,
		parent_id, actor, resource_type, resource_digest, context_digest, action_hash, audience, nonce, idempotency_key,
		request_hash, requested_at, decided_at, latency_ms, trace_id, mode, decision, reason_codes, policy_version,
		policy_hash, coverage, insufficient, operator_changed, challenges_used, challenge_completed, hold_approved,
		assurance, explanation, response, session_pinned`,
		a.ID, a.TenantID, a.EnvironmentID, a.CredentialID, a.ActionID, a.ActionKey, a.SubjectUID, a.SessionID,
		a.ParentID, a.Actor, a.ResourceType, a.ResourceDigest, a.ContextDigest, a.ActionHash, a.Audience, a.Nonce, a.IdempotencyKey,
		a.RequestHash, a.RequestedAt, a.DecidedAt, a.LatencyMS, a.TraceID, string(a.Mode), a.Decision, a.ReasonCodes, a.PolicyVersion,
		a.PolicyHash, a.Coverage, a.Insufficient, a.OperatorChanged, a.ChallengesUsed, a.ChallengeCompleted, a.HoldApproved,
		a.Assurance, a.Explanation, a.Response, a.SessionPinned)
}

func (s *statement) insertProof(p models.Proof) {
	s.insert("prf", "proofs", `jti, tenant_id, environment_id, authorization_id, subject_uid, kid, audience, status, compact,
		issued_at, expires_at, sealed`,
		p.JTI, p.TenantID, p.EnvironmentID, p.AuthorizationID, p.SubjectUID, p.KID, p.Audience, string(p.Status), p.Compact,
		p.IssuedAt, p.ExpiresAt, p.Sealed)
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
}

// insertDecisionEvents writes the entries in one statement, in their order. Postgres runs the parts of a statement in no
// promised order, so that one part for each entry would number the entries in any order. The rows are numbered after they
// are sorted; the outbox follows those numbers.
func (s *statement) insertDecisionEvents(entries []models.Event) {
	if len(entries) == 0 {
		return
	}
	rows := make([]string, len(entries))
	for i, e := range entries {
		rows[i] = "(" + s.typed("int", i) + ", " + s.typed("text", e.ID, e.TenantID, e.EnvironmentID, e.Type) + ", " +
			s.typed("timestamptz", e.At) + ", " + s.typed("text", e.SubjectUID, e.Subject, e.Action, e.AuthorizationID, e.Decision, e.Actor,
			e.RequestID, e.WorkflowID) + ", " + s.typed("jsonb", e.Data) + ", " + s.typed("bytea", e.Salt, e.Digest) + ")"
	}
	s.with("evt", `insert into events (`+eventColumns+`) select `+eventColumns+` from guard cross join (values `+strings.Join(rows, ", ")+`)
		as v (place, `+eventColumns+`) order by place returning seq, id, environment_id, at`)
	s.with("fan", `insert into outbox (topic, environment_id, ref, payload, created_at, available_at)
		select 'event', environment_id, id, '{}', at, at from evt where exists (select 1 from webhook_endpoints w
		where w.environment_id = evt.environment_id and w.status = 'enabled' and w.deleted_at is null) order by seq returning 1`)
}

// typed adds arguments of one type: a list of values, unlike an insert, does not know what its columns are.
func (s *statement) typed(as string, values ...any) string {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = s.arg(v) + "::" + as
	}
	return strings.Join(marks, ", ")
}
