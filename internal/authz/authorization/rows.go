package authorization

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Facts is the input of a decision, read in one round trip.
type Facts struct {
	Subject  models.Subject
	Session  *models.Session   // the requested one, or the subject's latest; in any status
	Heads    []models.Template // active templates without their data
	Passkeys int               // number that are not revoked
	// Prior has the columns of the decision with the same idempotency key that its response is made of; nil if there is none.
	Prior   *models.Authorization
	Tallies []int     // the numbers of Wanted.Tallies, in their order
	Numbers []*string // those of Wanted.Reads, in their order, as decimals; nil for one that is not known
}

// Wanted selects the facts of a decision.
type Wanted struct {
	Subject        string  // the relying party's id, or ours for a follow-up decision
	Waits          string  // the relying party's id of the subject of a follow-up decision that counts again
	Session        *string // nil for the latest
	IdempotencyKey string  // of a first decision
	Tallies        []DecisionTally
	Reads          []aggregate.Read
	Locks          []aggregate.Lock // that the transaction takes first
	Standing       bool             // a standing approval may be used, in a transaction
	Resource       []string         // aggregate.ResourceDigests
	Carried        []string         // aggregate.Vault.CarriedResource
	At             time.Time        // of the locks and the look-up
	Lookup         *lists.Lookup    // filled in; nil for none
}

// DecisionTally is a number of stored decisions about the subject: those about an action, with one of the effects, since a time. Or it is the number of
// security events of a type. It is counted up to Most, so that its cost is bounded.
type DecisionTally struct {
	Signal    string // the type of the events; empty for decisions
	Action    string
	Decisions []string
	Since     time.Time
	Most      int
	// Unapproved counts those that no person approved.
	Unapproved bool
}

// unknownTally is a tally of decisions that no person approved, and that are among too many others.
const unknownTally = -1

// maxSelected is among how many decisions those are sought that no person approved.
const maxSelected = 10_000

// ReadFacts returns what a decision about a subject (by the relying party's id) needs, and the decision with the same
// idempotency key. It returns ErrNotFound if there is neither a subject nor a decision. Session is nil if the requested
// session is not the subject's.
func ReadFacts(ctx context.Context, q *pg.Q, s pg.Scope, w Wanted) (Facts, error) {
	f, b := Facts{Numbers: make([]*string, len(w.Reads))}, &pgx.Batch{}
	columns, err := pg.Columns[models.Authorization](q)
	if err != nil {
		return f, err
	}
	queueNumbers(b, &f, aggregate.Of{Scope: s, Subject: w.Subject, Resource: w.Resource, Carried: w.Carried}, w)
	b.Queue("select "+columns+" from authorizations where environment_id = $1 and idempotency_key = $2 and parent_id is null", s.Environment, w.IdempotencyKey).
		Query(func(rows pgx.Rows) error {
			found, err := pg.CollectVerified[models.Authorization](ctx, q, rows)
			if len(found) > 0 {
				f.Prior = &found[0]
			}
			return err
		})
	err = queryFacts(ctx, q, &f, b, subjectrow.ByExternalID, s, w)
	if err == nil && f.Prior == nil && f.Subject.UID == "" {
		return f, pg.ErrNotFound
	}
	return f, err
}

// queueNumbers adds the locks of a decision, and then the numbers that are read under them.
func queueNumbers(b *pgx.Batch, f *Facts, of aggregate.Of, w Wanted) {
	aggregate.QueueLocks(b, of, w.Locks, w.At)
	for i, r := range w.Reads {
		aggregate.QueueRead(b, of, r, func(number *string) { f.Numbers[i] = number })
	}
}

// parentOf returns the authorization that a follow-up decision follows.
func parentOf(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Authorization, error) {
	var row models.Authorization
	return pg.OrNotFound(row, q.Gorm(ctx).Where(pg.InScope+" and id = ?", s.Tenant, s.Environment, id).Take(&row).Error)
}

// ReadFactsForFollowUp returns what a follow-up decision about a subject (by our id) needs.
func ReadFactsForFollowUp(ctx context.Context, q *pg.Q, s pg.Scope, w Wanted) (Facts, error) {
	f, b := Facts{Numbers: make([]*string, len(w.Reads))}, &pgx.Batch{}
	queueNumbers(b, &f, aggregate.Of{Scope: s, Subject: w.Waits, Resource: w.Resource, Carried: w.Carried}, w)
	err := queryFacts(ctx, q, &f, b, subjectrow.ByUID, s, w)
	if err == nil && f.Subject.UID == "" {
		return f, pg.ErrNotFound
	}
	return f, err
}

// queryFacts sends the statements of b and those that read the facts of the subject that a condition, subjectrow.ByExternalID or ByUID, selects. The
// subject is first: if it changes before the decision is written, nothing is written.
func queryFacts(ctx context.Context, q *pg.Q, f *Facts, b *pgx.Batch, which string, s pg.Scope, w Wanted) error {
	of := []any{s.Tenant, s.Environment, w.Subject}
	b.Queue(facts(which), append(of[:3:3], w.Session)...).Query(func(rows pgx.Rows) error { return f.receive(ctx, q, s, rows) })
	lists.QueueLookup(ctx, q, b, s, w.Lookup, w.At)
	f.Tallies = make([]int, len(w.Tallies))
	for i, t := range w.Tallies {
		if t.Signal != "" {
			b.Queue(factSignals(which), append(of[:3:3], t.Signal, t.Since, t.Most)...).QueryRow(func(row pgx.Row) error { return row.Scan(&f.Tallies[i]) })
			continue
		}
		if t.Unapproved {
			b.Queue(factUnapproved(which), append(of[:3:3], t.Action, t.Since, t.Most)...).QueryRow(func(row pgx.Row) error { return row.Scan(&f.Tallies[i]) })
			continue
		}
		for _, decision := range t.Decisions {
			b.Queue(factTally(which), append(of[:3:3], t.Action, decision, t.Since, t.Most)...).QueryRow(func(row pgx.Row) error {
				var n int
				err := row.Scan(&n)
				f.Tallies[i] = min(f.Tallies[i]+n, t.Most)
				return err
			})
		}
	}
	return q.Batch(ctx, b)
}

// facts is the statement that reads the subject which a condition selects, with its session, the number of its passkeys and its templates: one, because
// a distributed server plans each statement twice, which costs it more than the execution.
func facts(which string) string {
	return subjectrow.Select(`e.id, e.device_class, e.status, e.last_activity_at, e.state, coalesce(e.legacy, false), e.started_at, e.row_mac, coalesce(e.ended, false),
		(select count(*) from passkeys p where p.environment_id = $2 and p.subject_uid = s.uid and p.revoked_at is null),
		(select json_agg(json_build_object('Modality', t.modality, 'DeviceClass', t.device_class, 'ModelVersion', t.model_version,
			'Provisional', t.provisional, 'Limitations', t.limitations)) from templates t where t.environment_id = $2 and t.subject_uid = s.uid and t.status = 'active')`,
		`left join lateral (select e.*, `+pg.TableOf("sessions").Ended("e", "$2")+` as ended from sessions e
			where e.environment_id = $2 and e.subject_uid = s.uid and ($4::text is null or e.id = $4) order by e.started_at desc, e.id desc limit 1) e on true`, which)
}

// receive stores the row of facts, if there is one.
func (f *Facts) receive(ctx context.Context, q *pg.Q, s pg.Scope, rows pgx.Rows) error {
	var subject subjectrow.Read
	e := models.Session{TenantID: s.Tenant, EnvironmentID: s.Environment}
	var putBack bool
	into := append(subject.Fields(), (*zeronull.Text)(&e.ID), (*zeronull.Text)(&e.DeviceClass), (*zeronull.Text)(&e.Status), (*zeronull.Timestamptz)(&e.LastActivityAt),
		&e.State, &e.Legacy, (*zeronull.Timestamptz)(&e.StartedAt), &e.RowMAC, &putBack, &f.Passkeys, &f.Heads)
	_, err := pgx.ForEachRow(rows, into, func() (err error) {
		if f.Subject, err = subject.Verified(ctx, q, s); err != nil || e.ID == "" {
			return err
		}
		e.SubjectUID = f.Subject.UID
		if err := pg.Verify(ctx, q, e); err != nil {
			return err
		}
		if f.Session = &e; putBack {
			q.NotePutBack(s, "sessions", e.ID)
			e.Status = models.SessionEnded
		}
		return nil
	})
	return err
}

// factTally is the statement that counts decisions about the subject. The order, and the subject as one value, make the planner read
// authorizations_counts and stop at the limit, also for a subject with most of the table's rows. Decisions about an erased subject with the same
// id are in aggregate_values.
func factTally(which string) string {
	holder := subjectrow.UIDOf(which)
	return `select count(*) from ((select 1 from authorizations a where a.environment_id = $2 and a.subject_uid = ` + holder + `
			and a.action_key = $4 and a.decision = $5 and a.decided_at > $6 order by a.decided_at desc limit $7)
		union all (select 1 from aggregate_values v where v.environment_id = $2 and v.subject_uid = ` + holder + ` and v.field = '` + aggregate.DecisionsField + `'
			and v.action_key = $4 and v.decision = $5 and v.currency = '' and v.decided_at > $6 order by v.decided_at desc limit $7)) counted`
}

// factUnapproved is factTally for what was allowed and no person approved: by the first decision about a request, without a standing approval. Of
// the decisions about an erased subject it is not known: they count.
func factUnapproved(which string) string {
	holder := subjectrow.UIDOf(which)
	return `select case when read > ` + strconv.Itoa(maxSelected) + ` and n < $6 then ` + strconv.Itoa(unknownTally) + ` else least(n, $6) end from (select count(*) as read, count(*) filter (where counts) as n from (
			(select a.parent_id is null and a.standing_id is null as counts from authorizations a where a.environment_id = $2 and a.subject_uid = ` + holder + `
				and a.action_key = $4 and a.decision = 'allow' and a.decided_at > $5 order by a.decided_at desc limit ` + strconv.Itoa(maxSelected+1) + `)
			union all (select true from aggregate_values v where v.environment_id = $2 and v.subject_uid = ` + holder + ` and v.field = '` + aggregate.DecisionsField + `'
				and v.action_key = $4 and v.decision = 'allow' and v.currency = '' and v.decided_at > $5 order by v.decided_at desc limit $6)) found) counted`
}

// factSignals is the statement that counts security events about the subject, likewise by signals_counts.
func factSignals(which string) string {
	holder := subjectrow.UIDOf(which)
	return `select count(*) from ((select 1 from signals x where x.environment_id = $2 and x.subject_uid = ` + holder + `
			and x.type = $4 and not x.eased and x.at > $5 order by x.at desc limit $6)
		union all (select 1 from aggregate_values v where v.environment_id = $2 and v.subject_uid = ` + holder + ` and v.field = '` + aggregate.SignalsField + `'
			and v.action_key = $4 and v.currency = '' and v.decided_at > $5 order by v.decided_at desc limit $6)) counted`
}

// ReportOutcome records the outcome of a decision. It returns false if an outcome is recorded already. Only unknown may be replaced, by
// a different one.
func ReportOutcome(ctx context.Context, q *pg.Q, s pg.Scope, id, outcome string, noteDigest *string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update authorizations set outcome = $4, outcome_reported_at = $6, outcome_note_digest = $5
		where tenant_id = $1 and environment_id = $2 and id = $3 and (outcome is null or (outcome = 'unknown' and $4 <> 'unknown'))`,
		s.Tenant, s.Environment, id, outcome, noteDigest, at)
	return n > 0, err
}

// ScopeOfDecision returns the scope of an authorization, for an operator of the whole database.
func ScopeOfDecision(ctx context.Context, q *pg.Q, id string) (pg.Scope, error) {
	var s pg.Scope
	err := q.QueryRow(ctx, "select tenant_id, environment_id from authorizations where id = $1", id).Scan(&s.Tenant, &s.Environment)
	return pg.OrNotFound(s, err)
}

// queueHoldTeam adds what a new hold requires of a team.
func queueHoldTeam(b *pgx.Batch, t models.HoldTeam) {
	b.Queue(`insert into hold_teams (authorization_id, tenant_id, environment_id, team, approvals, escalate_team, escalate_at, row_mac, step, escalate_after,
			fallback_team, candidate, person, fallback_reason)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		t.AuthorizationID, t.TenantID, t.EnvironmentID, t.Team, t.Approvals, t.EscalateTeam, t.EscalateAt, t.RowMAC, t.Step, t.EscalateAfter,
		t.FallbackTeam, t.Candidate, t.Person, t.FallbackReason)
}

// queueHoldStep adds a step of a new hold.
func queueHoldStep(b *pgx.Batch, s models.HoldStep) {
	b.Queue(`insert into hold_steps (authorization_id, tenant_id, environment_id, step, name, approvals, within_seconds, timeout_team, opened_at, due_at, row_mac)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		s.AuthorizationID, s.TenantID, s.EnvironmentID, s.Step, s.Name, s.Approvals, s.WithinSeconds, s.TimeoutTeam, s.OpenedAt, s.DueAt, s.RowMAC)
}

// countsOfModels returns for each of the decisions by id how many passkeys of the models its subject has now; none is left out.
func countsOfModels(ctx context.Context, q *pg.Q, s pg.Scope, authorizations, aaguids []string) (map[string]int, error) {
	rows, err := q.Query(ctx, `select a.id, count(*) from authorizations a join passkeys p on p.subject_uid = a.subject_uid and p.environment_id = a.environment_id
		where a.tenant_id = $1 and a.environment_id = $2 and a.id = any ($3) and p.revoked_at is null
			and encode(p.aaguid, 'hex') = any (select replace(m, '-', '') from unnest($4::text[]) m)
		group by a.id`, s.Tenant, s.Environment, authorizations, aaguids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		out[id] = n
	}
	return out, rows.Err()
}
