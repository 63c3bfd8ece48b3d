package authorization

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// counting is the request for which numbers are read.
type counting struct {
	environment string
	context     map[string]any
	except      string // the request itself, if it counts already
}

// reads returns the aggregates of a request's rules and what they are read from, in the same order. One that seeks a value which the
// request does not have, and a sum of a currency that ISO 4217 does not have, are not read, so that they are not known.
func (s *Service) reads(force *action.InForce, c counting, wanted []rules.Aggregate, now time.Time) (aggregates []rules.Aggregate, out []aggregate.Read, err error) {
	for _, g := range wanted {
		read := aggregate.Read{
			Resource: g.Resource, Field: g.Field, Kind: kindOf(g), Action: g.Action, Decision: g.Decision(), Reserved: g.Reserved, Since: g.Since(now),
			At: now, Except: c.except,
		}
		if g.IsSum() {
			currency, known := force.Aggregates.CurrencyOf(g.Field, c.context)
			if !known {
				continue
			}
			read.Currency = currency
		}
		if above := force.Rules.Above(g); above != nil {
			digits, _ := above.FloatPrec()
			text := above.FloatString(digits)
			read.Above = &text
		}
		digests, known, err := soughtBy(s.digests, c, g)
		if err != nil {
			return nil, nil, err
		}
		if !known {
			continue
		}
		if g.IsSeen() {
			read.First, read.Seen = g.IsFirst(), digests
		} else if g.Filter != "" {
			read.Filter = filterOf(g)
			read.Filter.Digests = digests
		}
		aggregates, out = append(aggregates, g), append(out, read)
	}
	return aggregates, out, nil
}

func kindOf(g rules.Aggregate) aggregate.Kind {
	switch {
	case g.IsSum():
		return aggregate.Sum
	case g.CountsRequests():
		return aggregate.Requests
	default:
		return aggregate.Distinct
	}
}

// filterOf returns the filter of a number without the digests of its values, which depend on the request.
func filterOf(g rules.Aggregate) *aggregate.Filter {
	out := &aggregate.Filter{Fields: []string{}, Unapproved: g.Filter.Unapproved()}
	for _, s := range g.Filter.By() {
		out.Fields = append(out.Fields, s.Field)
	}
	return out
}

// soughtBy returns the digests of the values that a number seeks, or by which it is filtered; false if the request does not have one of them.
func soughtBy(vault aggregate.Vault, c counting, g rules.Aggregate) (digests [][]byte, known bool, err error) {
	for _, s := range g.Sought() {
		value, given := s.In(c.context)
		if !given {
			return nil, false, nil
		}
		some, err := vault.Digests(c.environment, s.Field, value)
		if err != nil {
			return nil, false, err
		}
		digests = append(digests, some...)
	}
	return digests, true, nil
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
func (s *Service) addAggregates(ctx context.Context, q *pg.Q, d *decision) error {
	if d.in.opens != nil { // nothing of it will be executed
		return nil
	}
	in, a := d.in, d.row.Authorization
	until, err := s.reservedUntil(ctx, q, d)
	if err != nil {
		return err
	}
	counted := in.force.Rules.Aggregates()
	bySubject := slices.ContainsFunc(counted, func(g rules.Aggregate) bool { return g.Field == rules.SubjectField })
	if in.request == nil {
		d.row.Counted, d.row.ReservedUntil = bySubject || !in.force.Aggregates.Empty(), until
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
		row.ResourceDigest = &in.request.countedAs[0]
		if again := in.force.Rules.Recount(); len(again.Aggregates) > 0 && waits(a) && d.in.kept.KnowsAll(again.Context, again.Resource) {
			row.ResourceUntil = until
		}
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

// waits reports whether a decision reserves what its request may still come to.
func waits(a models.Authorization) bool {
	return a.Mode == models.ModeEnforce && (a.Decision == string(policy.Challenge) || a.Decision == string(policy.Hold))
}

// reservedUntil returns until when a request that waits reserves the room of its resource; nil for one that does not wait.
func (s *Service) reservedUntil(ctx context.Context, q *pg.Q, d *decision) (*time.Time, error) {
	if !waits(d.row.Authorization) {
		return nil, nil
	}
	env, err := s.settings(ctx, q, d)
	until := d.now.Add(time.Duration(env.ResourceReservationSeconds) * time.Second)
	return &until, err
}

// keepWaiting adds the values that the rules which limit the resource read again, if the request waits.
func (d *decision) keepWaiting() error {
	if d.in.request == nil || d.in.opens != nil || !waits(d.row.Authorization) {
		return nil
	}
	var err error
	d.in.kept, err = d.in.force.Waiting.Values(d.in.request.Resource.ID, d.in.request.Context)
	return err
}
