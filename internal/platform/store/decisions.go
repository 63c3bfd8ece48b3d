package store

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Decisions stores authorizations and reads the facts that a decision needs.
type Decisions struct{ *Q }

// Decisions returns the queries of the aggregate.
func (q *Q) Decisions() Decisions { return Decisions{q} }

// Effect returns the decision (allow, challenge, hold or deny) of an authorization.
func (q Decisions) Effect(ctx context.Context, environment, id string) (string, error) {
	var decision string
	err := q.queryRow(ctx, "select decision from authorizations where id = $1 and environment_id = $2", id, environment).Scan(&decision)
	return orNotFound(decision, err)
}

// Facts is the input of a decision, read in one statement.
type Facts struct {
	Subject  models.Subject
	Session  *models.Session   // the requested one, or the subject's latest; in any status
	Heads    []models.Template // active templates without their data
	Passkeys int               // number that are not revoked
	Prior    *PriorDecision    // the stored response to the same idempotency key; nil if there is none
	Tallies  []int             // the numbers of Wanted.Tallies, in their order
	division int               // how far decisions are divided
}

// Wanted selects the facts of a decision.
type Wanted struct {
	Subject        string  // the relying party's id, or ours for a follow-up decision
	Session        *string // nil for the latest
	IdempotencyKey string  // of a first decision
	Tallies        []DecisionTally
}

// DecisionTally is a number of stored decisions about the subject: those about an action, with one of the effects, since a time. It is
// counted up to Most, so that its cost is bounded.
type DecisionTally struct {
	Action    string
	Decisions []string
	Since     time.Time
	Most      int
}

// PriorDecision is a stored response to the same idempotency key.
type PriorDecision struct {
	ID          string
	RequestHash []byte
	Response    []byte // without the proof that it was given with, but for those of older versions
}

const factColumns = `
	s.uid, s.external_id, s.status, s.enrollment, s.adaptation_frozen, s.claim_cap_until, s.created_at, s.updated_at,
	ses.id, ses.device_class, ses.status, ses.last_activity_at, ses.state,
	(select count(*) from passkeys p where p.subject_uid = s.uid and p.environment_id || '' = $2 and p.revoked_at is null),
	(select coalesce(json_agg(json_build_object('modality', t.modality, 'device', t.device_class, 'model', t.model_version,
		'provisional', t.provisional, 'limitations', t.limitations)), '[]')
		from templates t where t.subject_uid = s.uid and t.environment_id || '' = $2 and t.status = 'active')`

const factSession = `left join lateral (select id, device_class, status, last_activity_at, state from sessions
	where subject_uid = s.uid and environment_id || '' = $2 and ($4::text is null or id = $4) order by started_at desc, id desc limit 1) ses on true`

// talliesFrom returns a column with the tallies as a list, whose arguments begin at a position. Each is read as ranges of
// authorizations_counts, which has all of its columns. The order makes the planner use it also for a subject with most of the
// table's rows. The selects hide the lists from it: if it saw their lengths, it would plan the statement anew for each decision,
// which costs more than the statement.
func talliesFrom(first int) string {
	return fmt.Sprintf(`, (select coalesce(json_agg(least(n, most) order by place), '[]') from (select q.place, q.most, sum(counted.n) as n
		from unnest((select $%d::int[]), (select $%d::text[]), (select $%d::text[]), (select $%d::timestamptz[]), (select $%d::int[])) q (place, action, decision, since, most)
		cross join lateral (select count(*) as n from (select 1 from authorizations d
			where d.environment_id = $2 and d.subject_uid = s.uid and d.action_key = q.action
				and d.decision = q.decision and d.decided_at > q.since order by d.decided_at desc limit q.most) found) counted
		group by q.place, q.most) summed)`, first, first+1, first+2, first+3, first+4)
}

// countedTogether is the largest number of decisions that the tallies of a statement may count if it is sent with those of other requests: a
// thousand take Postgres about a millisecond, for which the others would wait.
const countedTogether = 500

// countedRows returns how many decisions tallies may count.
func countedRows(wanted []DecisionTally) (n int) {
	for _, t := range wanted {
		n += t.Most * len(t.Decisions)
	}
	return n
}

// noTallies is the column of the tallies of a decision that counts nothing.
const noTallies = ", null::json"

// talliesOf returns the column of the tallies and its arguments. Without tallies nothing is counted.
func talliesOf(wanted []DecisionTally, first int) (column string, args []any) {
	if len(wanted) == 0 {
		return noTallies, nil
	}
	var places, most []int
	var actions, decisions []string
	var since []time.Time
	for i, t := range wanted {
		for _, d := range t.Decisions {
			places, actions, decisions = append(places, i), append(actions, t.Action), append(decisions, d)
			since, most = append(since, t.Since), append(most, t.Most)
		}
	}
	return talliesFrom(first), []any{places, actions, decisions, since, most}
}

// FactsFor returns what a decision about a subject (by the relying party's id) needs, and the stored response to the same
// idempotency key. It returns ErrNotFound if there is neither a subject nor a response. Session is nil if the requested
// session is not the subject's.
func (q Decisions) FactsFor(ctx context.Context, s Scope, w Wanted) (Facts, error) {
	statement, with := factsUntallied, q.groups.reads
	args := []any{textOf(&s.Tenant), textOf(&s.Environment), textOf(&w.Subject), textOf(w.Session), textOf(&w.IdempotencyKey)}
	if len(w.Tallies) > 0 {
		if countedRows(w.Tallies) > countedTogether {
			with = nil
		}
		column, tallied := talliesOf(w.Tallies, len(args)+1)
		statement, args = `select `+factColumns+column+factsFrom, append(args, tallied...)
	}
	f, err := q.factsOf(ctx, statement, args, s, with)
	if err == nil && f.Prior == nil && f.Subject.UID == "" {
		return f, ErrNotFound
	}
	return f, err
}

// The statement of FactsFor behind the columns of the facts, and the whole of it for a decision that counts none.
const (
	factsFrom = `, ` + divisionLevel + `, prior.id, prior.request_hash, prior.response, prior.record
		from (values (1)) one
		left join subjects s on s.tenant_id = $1 and s.environment_id = $2 and s.external_id = $3 and s.status <> 'erasing'
		` + factSession + `
		left join authorizations prior on prior.idempotency_key = $5 and prior.environment_id || '' = $2 and prior.parent_id is null
			and not exists (select from decision_division where complete)`
	factsUntallied = `select ` + factColumns + noTallies + factsFrom
)

// FactsForFollowUp returns what a follow-up decision about a subject (by our id) needs.
func (q Decisions) FactsForFollowUp(ctx context.Context, s Scope, w Wanted) (Facts, error) {
	column, args := talliesOf(w.Tallies, 5)
	row := q.queryRow(ctx, q.text(`select `+factColumns+column+`, 0::bigint, null::text, null::bytea, null::bytea, null::bytea from subjects s `+factSession+`
		where s.tenant_id = $1 and s.environment_id = $2 and s.uid = $3`), append([]any{s.Tenant, s.Environment, w.Subject, w.Session}, args...)...)
	f, err := scanFacts(row, s)
	return orNotFound(f, err)
}

// Requester is the part that a review reads of an authorization that may have no hold: its action and the credential that
// requested it.
type Requester struct {
	ActionKey    string
	CredentialID string
}

// Requester returns the requester of an authorization of the environment.
func (q Decisions) Requester(ctx context.Context, s Scope, id string) (Requester, error) {
	var k Requester
	err := q.queryRow(ctx, `select action_key, credential_id from authorizations
		where tenant_id = $1 and environment_id = $2 and id = $3`, s.Tenant, s.Environment, id).Scan(&k.ActionKey, &k.CredentialID)
	return orNotFound(k, err)
}

// ReportOutcome records the outcome of a decision. It returns false if an outcome is recorded already. Only unknown may be replaced, by
// a different one.
func (q Decisions) ReportOutcome(ctx context.Context, s Scope, id, outcome string, noteDigest *string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update authorizations set outcome = $4, outcome_reported_at = $6, outcome_note_digest = $5
		where tenant_id = $1 and environment_id = $2 and id = $3 and (outcome is null or (outcome = 'unknown' and $4 <> 'unknown'))`,
		s.Tenant, s.Environment, id, outcome, noteDigest, at)
	return n > 0, err
}

// ScopeOf returns the scope of an authorization, for an operator of the whole database.
func (q Decisions) ScopeOf(ctx context.Context, id string) (Scope, error) {
	var s Scope
	err := q.queryRow(ctx, "select tenant_id, environment_id from authorizations where id = $1", id).Scan(&s.Tenant, &s.Environment)
	return orNotFound(s, err)
}
