package aggregate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// What a request counts towards a cap. The comment on aggregate_values says what each means.
const (
	reservedNo       = "no"
	reservedOpen     = "open"
	reservedFinal    = "final"
	reservedReleased = "released"
)

// Reserved returns what a decision counts towards a cap: only in mode enforce, and not if it is a denial.
func Reserved(mode models.ActionMode, decision string) string {
	switch {
	case mode != models.ModeEnforce:
		return reservedNo
	case decision == "allow":
		return reservedFinal
	case decision == "deny":
		return reservedReleased
	default:
		return reservedOpen
	}
}

// QueueInsert adds the values of one first decision.
func QueueInsert(b *pgx.Batch, values []models.AggregateValue) {
	if len(values) == 0 {
		return
	}
	v := values[0] // they have the decision in common
	args := []any{v.RequestID, v.TenantID, v.EnvironmentID, v.SubjectUID, v.ResourceDigest, v.ActionKey, v.Decision, v.DecidedAt, v.Reserved, v.ResourceUntil}
	rows := make([]string, len(values))
	for i, v := range values {
		n := len(args)
		rows[i] = fmt.Sprintf("($%d, $%d, $%d::numeric, $%d::bytea)", n+1, n+2, n+3, n+4)
		args = append(args, v.Field, v.Currency, v.Amount, v.Digest)
	}
	b.Queue(`insert into aggregate_values (request_id, tenant_id, environment_id, subject_uid, resource_digest, field, action_key, decision, first,
			currency, amount, digest, decided_at, reserved, reserved_at, resource_until)
		select $1, $2, $3, $4, $5, v.field, $6, $7, true, v.currency, v.amount, v.digest, $8::timestamptz, $9, $8, $10::timestamptz
		from (values `+strings.Join(rows, ", ")+`) v (field, currency, amount, digest)`, args...)
}

// requestOf selects the first decision about the request of a decision, which have the nonce in common. $1 is the environment.
const requestOf = `select r.id from authorizations r where r.environment_id = $1 and r.parent_id is null and r.nonce = `

// QueueFollowUp adds the values of a follow-up decision, which are those of the request. From then on the follow-up decision counts
// towards caps, and no earlier one. A request counts once for each of the decisions about it. If it still waits, it counts towards the limits of
// its resource until a time, unless that has no end.
func QueueFollowUp(b *pgx.Batch, a models.Authorization, until *time.Time) {
	reserved := Reserved(a.Mode, a.Decision)
	b.Queue(`update aggregate_values set reserved = 'no', reserved_at = $4
		where environment_id = $1 and request_id = (`+requestOf+`$2) and decision <> $3 and reserved <> 'no' and ($3 <> 'deny' or reserved <> 'executed')`,
		a.EnvironmentID, a.Nonce, a.Decision, a.DecidedAt)
	b.Queue(`insert into aggregate_values (request_id, tenant_id, environment_id, subject_uid, resource_digest, field, action_key, decision, first,
			currency, amount, digest, decided_at, reserved, reserved_at, resource_until)
		select distinct on (v.field) v.request_id, v.tenant_id, v.environment_id, v.subject_uid, v.resource_digest, v.field, v.action_key, $3, false,
			v.currency, v.amount, v.digest, $4::timestamptz, $5, $4, case when v.resource_until is not null then $6::timestamptz end
		from aggregate_values v where v.environment_id = $1 and v.request_id = (`+requestOf+`$2) order by v.field, v.resource_until
		on conflict (request_id, field, decision, environment_id) do update set reserved = excluded.reserved, reserved_at = excluded.reserved_at,
			resource_until = excluded.resource_until`,
		a.EnvironmentID, a.Nonce, a.Decision, a.DecidedAt, reserved, until)
}

// Waiting is a request that waits and counts towards the limits of its resource for a limited time.
type Waiting struct {
	Request  string // the first decision about it
	Subject  string // the relying party's id
	Resource string // the digest under which its resource is counted
}

// WaitingRequest returns the request with a nonce; false if it does not wait, or reserves what it needs of its resource until it is settled.
func WaitingRequest(ctx context.Context, q *pg.Q, s pg.Scope, nonce string) (Waiting, bool, error) {
	var w Waiting
	err := q.QueryRow(ctx, `select v.request_id, s.external_id, v.resource_digest
		from aggregate_values v`+subjectrow.Join("v")+`
		where v.environment_id = $1 and v.request_id = (`+requestOf+`$2) and v.reserved = 'open' and v.resource_until is not null and v.resource_digest is not null
		limit 1`, s.Environment, nonce).Scan(&w.Request, &w.Subject, &w.Resource)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, false, nil
	}
	return w, err == nil, err
}

// Release gives back what the requests of decisions count towards caps: they will not be executed. One that was reported as executed, or
// whose proof was consumed, stays.
func Release(ctx context.Context, q *pg.Q, environment string, at time.Time, decisions ...string) error {
	if len(decisions) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	QueueRelease(b, environment, at, decisions...)
	return q.Batch(ctx, b)
}

// release is the statement of Release, with the environment, the decisions, the time and the outcomes of what was executed. A request
// stays counted if any decision about it was executed or its proof was consumed; a consumption at the same time is waited for.
const release = `with recursive request (id, root, outcome) as (
		select r.id, r.id, r.outcome from authorizations r where r.environment_id = $1 and r.parent_id is null
			and r.nonce = any (select d.nonce from authorizations d where d.environment_id = $1 and d.id = any ($2))
		union all select a.id, p.root, a.outcome from request p join authorizations a on a.environment_id = $1 and a.parent_id = p.id),
	signed as (select q.root, p.status from request q join proofs p on p.environment_id = $1 and p.authorization_id = q.id for update of p)
	update aggregate_values set reserved = 'released', reserved_at = $3
	where environment_id = $1 and reserved in ('open', 'final') and request_id in (select root from request
		except select root from request where outcome = any ($4) except select root from signed where status = 'consumed')`

// QueueRelease adds Release to a batch.
func QueueRelease(b *pgx.Batch, environment string, at time.Time, decisions ...string) {
	b.Queue(release, environment, decisions, at, executed)
}

// The outcomes that a relying party reports of a request which it has executed, and of one which it has not.
var (
	executed    = []string{"executed", "manually_approved", "customer_override"}
	notExecuted = []string{"not_executed", "manually_rejected"}
)

// NotExecuted reports whether an outcome says that the request was not executed.
func NotExecuted(outcome string) bool { return slices.Contains(notExecuted, outcome) }

// Report applies the outcome of a decision: a request that was not executed is given back, unless its proof was consumed, and one that
// was executed although it was denied, has expired or still waits counts. It reports whether something was given back: then the request must not be executed any more.
func Report(ctx context.Context, q *pg.Q, environment, decision, outcome string, at time.Time) (givenBack bool, err error) {
	switch {
	case NotExecuted(outcome):
		n, err := q.Exec(ctx, release, environment, []string{decision}, at, executed)
		return n > 0, err
	case slices.Contains(executed, outcome):
		_, err := q.Exec(ctx, `update aggregate_values set reserved = 'executed', reserved_at = $3
			where environment_id = $1 and reserved in ('open', 'released') and request_id in (`+requestOf+`any (select d.nonce from authorizations d
				where d.environment_id = $1 and d.id = $2))`, environment, decision, at)
		return false, err
	default:
		return false, nil
	}
}

// LockWait is how long a decision waits for the others under the same cap, and LockTry for how long of that it holds a connection at a time.
const (
	LockWait = 3 * time.Second
	LockTry  = 50 * time.Millisecond
)

// Lock is a cap: of a field of the subject, or of the resource.
type Lock struct {
	Resource bool
	Field    string
}

// compareLocks orders locks: those of the resource first, then by field. Every decision takes them in this order, so that no two wait for
// each other.
func compareLocks(a, b Lock) int {
	if a.Resource != b.Resource {
		if a.Resource {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Field, b.Field)
}

// QueueLocks adds the locks of a decision that reserves. Others under the same caps wait for it until it is written; pg.IsLocked says that
// one has waited for LockTry.
func QueueLocks(b *pgx.Batch, of Of, locks []Lock, at time.Time) {
	if len(locks) == 0 {
		return
	}
	b.Queue("select set_config('lock_timeout', $1, true)", fmt.Sprint(LockTry.Milliseconds()))
	const locked = ` on conflict (environment_id, subject_uid, resource_digest, field) do update set locked_at = excluded.locked_at`
	for _, l := range slices.SortedFunc(slices.Values(locks), compareLocks) {
		if l.Resource {
			for _, digest := range slices.Sorted(slices.Values(of.Resource)) {
				b.Queue(`insert into aggregate_locks (tenant_id, environment_id, subject_uid, resource_digest, field, locked_at)
					values ($1, $2, '', $3, $4, $5)`+locked, of.Scope.Tenant, of.Scope.Environment, digest, l.Field, at)
			}
			continue
		}
		b.Queue(`insert into aggregate_locks (tenant_id, environment_id, subject_uid, resource_digest, field, locked_at)
			select $1, $2, s.uid, '', $4, $5::timestamptz from `+subjectrow.UIDOf(subjectrow.ByExternalID)+" s"+locked,
			of.Scope.Tenant, of.Scope.Environment, of.Subject, l.Field, at)
	}
}

// DropLocks deletes at most limit locks that were last taken before t.
func DropLocks(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `delete from aggregate_locks where (environment_id, subject_uid, resource_digest, field) in
		(select environment_id, subject_uid, resource_digest, field from aggregate_locks where locked_at < $1 limit $2) and locked_at < $1`, t, limit)
}

// Of is whose values are read.
type Of struct {
	Scope    pg.Scope
	Subject  string   // the relying party's id
	Resource []string // ResourceDigests
	Carried  []string // Vault.CarriedResource of them
}

// Read is a number that a rule reads: of the subject, or of the resource.
type Read struct {
	Resource bool
	Field    string
	Kind     Kind
	Action   string
	// Decision is the one that counts; empty counts each request once, by its first decision. Reserved reads instead what counts
	// towards a cap.
	Decision string
	Reserved bool
	Currency string
	Since    time.Time
	// At is when a reserved number is read: what waits counts towards the limits of its resource for a limited time. Except is a request that
	// does not count: the one that is decided about again.
	At     time.Time
	Except string
	// Filter selects what counts; nil for everything.
	Filter *Filter
	// Above is from where on the number may be any that is higher; empty for an exact one.
	Above *string
	// Seen are digests of a value: the number is 0 unless a request with one of them was allowed. It is nil for a number.
	Seen [][]byte
	// First makes the number how many microseconds before At the first of them was made; 0 for none.
	First bool
}

// Filter selects requests by values that they have in common.
type Filter struct {
	Fields     []string // each with a value
	Digests    [][]byte // by which the values may have been stored
	Unapproved bool     // only what was allowed, or executed, without a person who approved it
}

// maxRead is the most values that are read for one number. If there are more, the number is unknown.
const maxRead = 10_000

// firstPage is how many values are read first. If they already exceed Read.Above, no more are.
const firstPage = 1000

// QueueRead adds the statement of one number, which set receives: a decimal, or nil if it is not known.
func QueueRead(b *pgx.Batch, of Of, r Read, set func(number *string)) {
	var holder any = of.Subject
	if r.Resource {
		holder = slices.Concat(of.Resource, of.Carried)
	}
	args := []any{of.Scope.Tenant, of.Scope.Environment, holder, r.Field}
	if r.Seen != nil {
		query, args := seenQuery, append(args[:3:3], r.Seen, r.Since)
		if r.First {
			query, args = firstQuery, append(args, r.At)
		}
		b.Queue(query, args...).QueryRow(func(row pgx.Row) error {
			var n string
			err := row.Scan(&n)
			set(&n)
			return err
		})
		return
	}
	args = append(args, r.Action, r.Currency, r.Since)
	v := variant{
		resource: r.Resource, reserved: r.Reserved, each: !r.Reserved && r.Decision == "", bounded: r.Above != nil, again: r.Except != "", filtered: r.Filter != nil, kind: r.Kind,
	}
	switch {
	case v.reserved && v.resource:
		args = append(args, r.At)
	case !v.reserved && !v.each:
		args = append(args, r.Decision)
	}
	if v.again {
		args = append(args, r.Except)
	}
	if v.filtered {
		args = append(args, r.Filter.Fields, r.Filter.Digests, r.Filter.Unapproved)
	}
	if v.bounded {
		args = append(args, *r.Above)
	}
	b.Queue(numberQueries[v], args...).QueryRow(func(row pgx.Row) error {
		var number string
		var read int
		if err := row.Scan(&number, &read); err != nil {
			return err
		}
		if read <= maxRead {
			set(&number)
		} else {
			set(nil)
		}
		return nil
	})
}

// Whose values are read: $1 is the tenant, $2 the environment, and $3 the relying party's id of the subject, which the planner looks up
// once, or the digests of the resource, each of which is h.digest in turn.
var (
	ofSubject  = "v.subject_uid = " + subjectrow.UIDOf(subjectrow.ByExternalID)
	ofResource = `v.tenant_id = $1 and v.resource_digest = h.digest`
)

// seenQuery reads the newest request with each digest. The order makes it read one entry of the index, also for a value that most
// requests have.
var seenQuery = `select count(*)::text from unnest($4::bytea[]) d(digest), lateral (select from aggregate_values v where v.environment_id = $2
	and ` + ofSubject + ` and v.digest = d.digest and v.decision = 'allow' and v.reserved <> 'released' and v.decided_at > $5
	and v.request_id not like '` + carriedPrefix + `%'
	order by v.decided_at desc limit 1) newest`

// firstQuery reads the oldest request with each digest, as seenQuery does the newest.
var firstQuery = `select coalesce(max((extract(epoch from $6::timestamptz - oldest.decided_at) * 1000000)::bigint), 0)::text
	from unnest($4::bytea[]) d(digest), lateral (select v.decided_at from aggregate_values v where v.environment_id = $2
	and ` + ofSubject + ` and v.digest = d.digest and v.decision = 'allow' and v.reserved <> 'released' and v.decided_at > $5
	order by v.decided_at limit 1) oldest`

// variant selects a statement of numberQueries. A bounded one may stop above a limit.
// One that is read again leaves the request itself out.
type variant struct {
	resource, reserved, each, bounded, again, filtered bool
	kind                                               Kind
}

// numberQueries are the statements of numbers. What is open counts towards a cap of its subject however old it is: it may be executed any time. A
// cap of its resource is counted again before that, so that it counts for a limited time.
// No estimate depends on the time, so that Postgres plans each statement once and not for each request. The order makes it read the
// rows of the holder by their index, of which others with the same window are no part, and which has all that is read. What a filter asks is
// looked up by key for each of these rows, and not for more.
var numberQueries = func() map[variant]string {
	const since, newest = "(select $7::timestamptz)", " order by v.decided_at desc limit %[1]d"
	out := map[variant]string{}
	for n := range 1 << 6 {
		v := variant{resource: n&1 > 0, reserved: n&2 > 0, each: n&4 > 0, bounded: n&8 > 0, again: n&16 > 0, filtered: n&32 > 0}
		next := 8 // the number of the next argument
		arg := func() string { next++; return "$" + strconv.Itoa(next-1) }
		holder, open, decision := ofSubject, "v.reserved = 'open'", ""
		if v.resource {
			holder = ofResource
		}
		switch {
		case v.reserved && v.resource:
			open = "v.reserved = 'open' and (v.resource_until is null or v.resource_until > (select " + arg() + "::timestamptz))"
		case !v.reserved && !v.each:
			decision = arg()
		}
		columns, counts := "v.amount, v.digest", ""
		if v.filtered {
			columns = "v.amount, v.digest, v.request_id, v.decision, v.first, v.reserved"
		}
		rows := "select " + columns + ` from aggregate_values v where v.environment_id = $2 and ` + holder + `
			and v.field = $4 and v.action_key = $5 and v.currency = $6 and `
		if v.again {
			rows += "v.request_id <> " + arg() + " and "
		}
		if v.filtered {
			fields, values, unapproved := arg(), "f.digest = any ("+arg()+"::bytea[])", arg()
			counts = selected("$1", "$2", fields, values, unapproved, "v.reserved = 'executed'")
		}
		limit := arg()
		switch {
		case v.reserved:
			rows = `(` + rows + `v.decision = 'allow' and v.decided_at > ` + since + ` and v.reserved = 'final'` + newest + `) union all (` +
				rows + `v.reserved in ('open', 'executed') and (` + open + ` or v.reserved = 'executed' and v.reserved_at > ` + since + `) limit %[1]d)`
		case v.each:
			rows = "select " + columns + ` from unnest(array['allow', 'challenge', 'hold', 'deny']) d, lateral (` +
				rows + `v.decision = d and v.decided_at > ` + since + ` and v.first` + newest + `) v`
		default:
			rows += "v.decision = " + decision + " and v.decided_at > " + since + newest
		}
		if v.resource {
			rows = "select " + columns + ` from unnest($3::text[]) h(digest), lateral (` + rows + `) v`
		}
		numbers := numbersOf("")
		if v.filtered { // computed once for each row: the planner would repeat what it pulls up
			rows = "select v.amount, v.digest, " + counts + " as counts from (" + rows + ") v offset 0"
			numbers = numbersOf(" filter (where r.counts)")
		}
		for kind, number := range numbers {
			v.kind = kind
			out[v] = numberOf(number, rows, maxRead+1)
			if v.bounded {
				out[v] = numberOf(number, rows, firstPage) + " having " + number + " > " + limit + "::numeric or count(*) < " + strconv.Itoa(firstPage) +
					" union all " + out[v] + " limit 1"
			}
		}
	}
	return out
}()

// numbersOf are the numbers of rows r that a clause selects.
func numbersOf(clause string) map[Kind]string {
	return map[Kind]string{Sum: "coalesce(sum(r.amount)" + clause + ", 0)", Distinct: "count(distinct r.digest)" + clause, Requests: "count(*)" + clause}
}

// selected is the condition that a filter selects a row v, with the arguments that it refers to: the values are a condition on a row f, and what was not
// allowed counts as executed by another. Of an erased subject's requests it is not known which values they had: they count. All of it can only be
// planned row by row, by the keys of the tables.
func selected(tenant, environment, fields, values, unapproved, executed string) string {
	return `((starts_with(v.request_id, '` + carriedPrefix + `') or (select count(*) from aggregate_values f where f.tenant_id = ` + tenant + ` and f.environment_id = ` + environment + `
				and f.request_id = v.request_id and f.decision = v.decision and f.field = any (` + fields + `::text[]) and ` + values + `)
			= cardinality(` + fields + `::text[]))
		and (not ` + unapproved + `::boolean or case when v.decision <> 'allow' then ` + executed + ` else v.first
			and (select s.standing_id from authorizations s where s.tenant_id = ` + tenant + ` and s.environment_id = ` + environment + ` and s.id = v.request_id) is null end))`
}

// numberOf reads a number, and of how many rows: those of a limit, or of some limits, to which the text of the rows refers.
func numberOf(number, rows string, limit int) string {
	return fmt.Sprintf("select ("+number+")::text, count(*) from ("+rows+") r", limit)
}
