package aggregate

import (
	"context"
	"math/big"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// How long before a decision something was done that the decision may not have seen: a first decision is written within a moment, and
// what a workflow does is written later than its time while the workflow retries.
const (
	simultaneous = 15 * time.Second
	late         = time.Hour
)

// Past is a number as stored decisions read it when they were made.
type Past struct {
	Read              // without Since and Above
	Measured string   // the key of the action whose requests must all have been made under one of the policies of Stored
	Stored   []string // the content hashes of the policies that store the field
}

// Moment is a decision that read a number.
type Moment struct {
	ID       string
	Currency string
	Since    time.Time // when the window began
	Seen     [][]byte  // as of Read, or the digests of the filter's values
}

// Bounds are the least and the most that a number can have been. What was done at the same time, or has changed since, may have counted or
// not.
type Bounds struct{ Least, Most *big.Rat }

// Before returns the bounds of a number for first decisions. One that is missing is not known.
func (p Past) Before(ctx context.Context, q *pg.Q, s pg.Scope, of []Moment) (map[string]Bounds, error) {
	var ids, currencies []string
	var digests [][]byte
	var since []time.Time
	var filtering []string // the ids of the digests of filters
	var values [][]byte
	for _, m := range of {
		if p.Filter != nil {
			for _, digest := range m.Seen {
				filtering, values = append(filtering, m.ID), append(values, digest)
			}
			m.Seen = nil
		}
		for _, digest := range append(m.Seen, nil)[:max(len(m.Seen), 1)] {
			ids, currencies, since, digests = append(ids, m.ID), append(currencies, m.Currency), append(since, m.Since), append(digests, digest)
		}
	}
	filter := Filter{}
	if p.Filter != nil {
		filter = *p.Filter
	}
	query, args, err := pgx.NamedArgs{
		"filtering": filtering, "values": values, "fields": filter.Fields, "unapproved": filter.Unapproved,
		"tenant": s.Tenant, "environment": s.Environment, "ids": ids, "currencies": currencies, "digests": digests, "field": p.Field, "action": p.Action, "resource": p.Resource,
		"decision": p.Decision, "since": since, "simultaneous": simultaneous, "late": late, "measured": p.Measured, "stored": p.Stored, "most": maxRead + 1,
	}.RewriteQuery(ctx, nil, pastQuery(p), nil)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Bounds, len(of))
	var id, least, most string
	var read int
	var unstored bool
	_, err = pgx.ForEachRow(rows, []any{&id, &least, &most, &read, &unstored}, func() error {
		low, _ := new(big.Rat).SetString(least)
		high, ok := new(big.Rat).SetString(most)
		if ok && !unstored && read <= maxRead {
			out[id] = Bounds{low, high}
		}
		return nil
	})
	return out, err
}

// pastQuery returns the statement of a number.
func pastQuery(p Past) string {
	const (
		within  = `v.decided_at > w.since`
		perhaps = `v.decided_at > w.since - @simultaneous::interval and v.decided_at < a.decided_at + @simultaneous::interval`
		written = `v.decided_at < a.decided_at - case when v.first then @simultaneous::interval else @late::interval end`
		settled = `v.reserved_at < a.decided_at - case when v.first and v.reserved_at = v.decided_at then @simultaneous::interval else @late::interval end`
		counted = `(v.reserved = 'open' and (not @resource or v.resource_until is null or v.resource_until > a.decided_at) or v.decision = 'allow' and v.reserved = 'final' and v.decided_at > w.since
			or v.reserved = 'executed' and v.reserved_at > w.since)`
		counts = `(v.reserved = 'open' and (not @resource or v.resource_until is null or v.resource_until > a.decided_at - @simultaneous::interval) or v.decision = 'allow' and v.reserved = 'final' and v.decided_at > w.since - @simultaneous::interval
			or v.reserved = 'executed' and v.reserved_at > w.since - @simultaneous::interval)`
	)
	// A request is counted under the digest of its row; version 1.0.0 counted under that of the decision.
	const own = `(select o.resource_digest from aggregate_values o where o.environment_id = @environment and o.request_id = a.id and o.resource_digest is not null limit 1)`
	holder := "v.subject_uid = a.subject_uid"
	if p.Resource {
		holder = "v.resource_digest in (a.resource_digest, " + own + ")"
	}
	f := p.filtered(settled)
	number := [2]string{strings.ReplaceAll(numbersOf(f.least)[p.Kind], "r.", "v."), strings.ReplaceAll(numbersOf(f.most)[p.Kind], "r.", "v.")}
	if p.First {
		number = [2]string{"coalesce(max(v.ago) filter (where v.certain), 0)", "greatest(coalesce(max(v.ago), 0), 0)"}
	}
	of := "v.field = @field and v.action_key = @action and v.currency = w.currency and "
	certain, possible := within+" and "+written, perhaps+" and "
	switch {
	case p.Seen != nil:
		of = "v.digest = w.digest and v.decision = 'allow' and v.request_id not like '" + carriedPrefix + "%' and "
		certain += " and (v.reserved in ('no', 'final') or v.reserved <> 'released' and " + settled + ")"
		possible += "(v.reserved <> 'released' or not " + settled + ")"
	case p.Reserved: // one that became no at once was superseded by a row that counts instead
		certain = settled + " and " + counted
		possible = `v.decided_at < a.decided_at + @simultaneous::interval and not (v.reserved = 'no' and v.reserved_at = v.decided_at)
			and (not ` + settled + " or " + counts + ")"
	case p.Decision == "":
		possible += "v.first"
	default:
		possible += "v.decision = @decision"
	}
	return `select a.id, (` + number[0] + `)::text, (` + number[1] + `)::text, count(v.certain),
			exists (select from authorizations b where b.environment_id = @environment and b.subject_uid = a.subject_uid and b.action_key = @measured and b.parent_id is null
				and b.id <> a.id and b.decided_at > w.since - @simultaneous::interval and b.decided_at < a.decided_at + @simultaneous::interval
				and b.policy_hash <> all (@stored))
		from unnest(@ids::text[], @currencies::text[], @since::timestamptz[], @digests::bytea[]) w(id, currency, since, digest) join authorizations a on a.environment_id = @environment and a.id = w.id
			` + f.wanted + `
			left join lateral (` + f.before + `select v.amount, v.digest` + f.columns + `, (extract(epoch from a.decided_at - v.decided_at) * 1000000)::bigint as ago, ` + certain + ` as certain
				from aggregate_values v where v.tenant_id = @tenant and v.environment_id = @environment
				and ` + holder + ` and v.request_id <> a.id and ` + of + possible + ` limit @most` + f.after + `) v on true
		group by a.id, a.subject_uid, a.decided_at, w.since`
}

// filtering are the parts of a statement by which a filter selects rows.
type filtering struct{ least, most, columns, wanted, before, after string }

// filtered returns those of the filter. A row that was not settled before the decision may have been executed then.
func (p Past) filtered(settled string) filtering {
	if p.Filter == nil {
		return filtering{least: " filter (where v.certain)"}
	}
	by := func(executed string) string {
		return selected("@tenant", "@environment", "@fields", "f.digest = any (g.digests)", "@unapproved", executed)
	}
	return filtering{
		least: " filter (where v.certain and v.surely)", most: " filter (where v.perhaps)",
		columns: ", v.request_id, v.decision, v.first, v.reserved, " + settled + " as settled",
		wanted:  "left join lateral (select array_agg(d.digest) as digests from unnest(@filtering::text[], @values::bytea[]) d (id, digest) where d.id = a.id) g on true",
		before:  "select v.*, " + by("v.reserved = 'executed'") + " as surely, " + by("v.reserved = 'executed' or not v.settled") + " as perhaps from (",
		after:   ") v offset 0",
	}
}
