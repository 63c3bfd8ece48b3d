package authorization

import (
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/models"
)

// reads returns the aggregates of a request's rules and what they are read from, in the same order. One that seeks a value which the
// request does not have is not read.
func (s *Service) reads(force *action.InForce, r *request, wanted []rules.Aggregate, now time.Time) (aggregates []rules.Aggregate, out []aggregate.Read, err error) {
	for _, g := range wanted {
		read := aggregate.Read{
			Resource: g.Resource, Field: g.Field, Kind: aggregate.Distinct, Action: g.Action, Decision: g.Decision(), Reserved: g.Reserved, Since: now.Add(-g.Span()),
		}
		if g.IsSum() {
			read.Kind, read.Currency = aggregate.Sum, force.Aggregates.CurrencyOf(g.Field, r.context)
		}
		if above := force.Rules.Above(g); above != nil {
			digits, _ := above.FloatPrec()
			text := above.FloatString(digits)
			read.Above = &text
		}
		if g.IsSeen() {
			value, given := g.Sought(r.context)
			if !given {
				continue
			}
			text, err := aggregate.Text(value)
			if err != nil {
				return nil, nil, err
			}
			read.Seen = s.digests.Digests(r.principal.EnvironmentID, g.Field, text)
		}
		aggregates, out = append(aggregates, g), append(out, read)
	}
	return aggregates, out, nil
}

// locks returns the caps of a request: those of every rule that reserves, whether or not it depends on them, since the request counts
// towards them in any case. Only mode enforce reserves.
func locks(force *action.InForce) []aggregate.Lock {
	if force.Action.Mode != models.ModeEnforce {
		return nil
	}
	var out []aggregate.Lock
	for _, g := range force.Rules.Aggregates() {
		if l := (aggregate.Lock{Resource: g.Resource, Field: g.Field}); g.Reserved && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// numbered returns the numbers that were read as rules know them.
func numbered(aggregates []rules.Aggregate, numbers []*string) map[rules.Aggregate]string {
	out := make(map[rules.Aggregate]string, len(numbers))
	for i, n := range numbers {
		if n != nil {
			out[aggregates[i]] = *n
		}
	}
	return out
}

// addAggregates adds the values by which rules count the request from now on. A follow-up decision has those of its request.
func (s *Service) addAggregates(d *decision) error {
	in, a := d.in, d.row.Authorization
	counted := in.force.Rules.Aggregates()
	bySubject := slices.ContainsFunc(counted, func(g rules.Aggregate) bool { return g.Field == rules.SubjectField })
	if in.request == nil {
		d.row.Counted = bySubject || !in.force.Aggregates.Empty()
		return nil
	}
	values, err := in.force.Aggregates.Values(in.request.Context)
	if err != nil {
		return err
	}
	row := models.AggregateValue{
		RequestID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, SubjectUID: a.SubjectUID,
		ActionKey: a.ActionKey, Decision: a.Decision, First: true, DecidedAt: a.DecidedAt, Reserved: aggregate.Reserved(a.Mode, a.Decision), ReservedAt: a.DecidedAt,
	}
	if slices.ContainsFunc(counted, func(g rules.Aggregate) bool { return g.Resource }) {
		row.ResourceDigest = &a.ResourceDigest
	}
	for _, v := range values {
		row.Field, row.Currency, row.Amount, row.Digest = v.Field, v.Currency, nil, nil
		if v.Text == nil {
			row.Amount = &v.Amount
		} else {
			row.Digest = s.digests.Digest(a.EnvironmentID, v.Field, v.Text)
		}
		d.row.Aggregates = append(d.row.Aggregates, row)
	}
	if bySubject {
		row.Field, row.Currency, row.Amount, row.Digest = rules.SubjectField, "", nil, []byte(a.SubjectUID)
		d.row.Aggregates = append(d.row.Aggregates, row)
	}
	return nil
}
