package policytest

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/yamlfile"
)

// earlier is one decision of before with its values.
type earlier struct {
	Earlier
	values []aggregate.Value
}

// before sets the numbers of every count and aggregate that the rules read to those of the earlier decisions of the case.
func (c *Case) before(f *File) error {
	if len(c.Earlier) > 0 && len(f.set.Counts())+len(f.set.Aggregates()) == 0 {
		return yamlfile.At(c.Line, "no rule counts decisions, and the case %q has earlier ones", c.Name)
	}
	all := make([]earlier, len(c.Earlier))
	for i, e := range c.Earlier {
		values, err := f.values(&e.Context)
		if err != nil {
			return err
		}
		e.Action, e.Decision = or(e.Action, f.action.Key), policy.Effect(or(string(e.Decision), string(policy.Allow)))
		e.Subject, e.Resource = or(e.Subject, c.in.vars.Subject.ID), or(e.Resource, c.in.vars.Resource.ID)
		all[i] = earlier{e, values}
	}
	c.in.vars.Counts, c.in.vars.Aggregates = map[rules.Count]int{}, map[rules.Aggregate]string{}
	for _, needed := range f.set.Counts() {
		n := 0
		for _, e := range all {
			if needed.Unapproved && e.ByPerson {
				continue
			}
			if e.Subject == c.in.vars.Subject.ID && e.Action == needed.Action && slices.Contains(needed.Outcomes(), string(e.Decision)) && needed.Since(c.in.vars.Now).Before(c.in.vars.Now.Add(-e.Ago)) {
				n++
			}
		}
		c.in.vars.Counts[needed] = n
	}
	for _, needed := range f.set.Aggregates() {
		number, err := c.number(f, needed, all)
		if err != nil {
			return err
		}
		c.in.vars.Aggregates[needed] = number
	}
	return nil
}

// values returns the values of the context of an earlier decision. The context may lack everything by which no rule counts.
func (f *File) values(node *yaml.Node) ([]aggregate.Value, error) {
	if node.IsZero() {
		return nil, nil
	}
	raw, err := toJSON(node)
	if err != nil {
		return nil, err
	}
	var context map[string]any
	if err := json.Unmarshal(raw, &context); err != nil {
		return nil, yamlfile.At(node.Line, "context must be an object")
	}
	if faults := f.draft.Aggregates.Faults(context); len(faults) > 0 {
		return nil, yamlfile.At(node.Line, "%s", "context."+strings.Join(faults[0].Path, ".")+" "+faults[0].Why)
	}
	return f.draft.Aggregates.Values(raw)
}

// number returns what an aggregate comes to; empty if that is not known.
func (c *Case) number(f *File, g rules.Aggregate, all []earlier) (string, error) {
	sum, different, oldest := new(big.Rat), map[string]bool{}, map[string]time.Duration{}
	currency, known := f.draft.Aggregates.CurrencyOf(g.Field, c.in.context)
	if g.IsSum() && !known {
		return "", nil
	}
	requests := 0
	for _, e := range all {
		selected, err := e.selectedBy(g.Filter, c.in.context)
		if err != nil {
			return "", err
		}
		if !selected || !e.counts(g, c.in.vars) {
			continue
		}
		requests++
		if g.Field == rules.SubjectField {
			different[e.Subject] = true
		}
		for _, v := range e.values {
			if amount, ok := new(big.Rat).SetString(v.Amount); ok && v.Field == g.Field && v.Currency == currency {
				sum.Add(sum, amount)
			}
			if v.Field == g.Field && v.Text != nil {
				different[string(v.Text)] = true
				oldest[string(v.Text)] = max(oldest[string(v.Text)], e.Ago)
			}
		}
	}
	switch {
	case g.IsSum():
		return sum.RatString(), nil
	case g.CountsRequests():
		return strconv.Itoa(requests), nil
	case !g.IsSeen():
		return strconv.Itoa(len(different)), nil
	}
	value, _ := g.Sought()[0].In(c.in.context)
	text, err := aggregate.Text(value)
	if g.IsFirst() {
		return strconv.FormatInt(oldest[string(text)].Microseconds(), 10), err
	}
	if different[string(text)] {
		return "1", err
	}
	return "0", err
}

// selectedBy reports whether a filter selects an earlier decision for a request. What waits would be approved by a person.
func (e earlier) selectedBy(f rules.Filter, context map[string]any) (bool, error) {
	for _, sought := range f.By() {
		value, given := sought.In(context)
		text, err := aggregate.Text(value)
		if err != nil || !given || !slices.ContainsFunc(e.values, func(v aggregate.Value) bool { return v.Field == sought.Field && bytes.Equal(v.Text, text) }) {
			return false, err
		}
	}
	return !f.Unapproved() || e.Decision == policy.Allow && !e.ByPerson, nil
}

// counts reports whether an aggregate counts an earlier decision about a case.
func (e earlier) counts(g rules.Aggregate, v rules.Vars) bool {
	within := g.Since(v.Now).Before(v.Now.Add(-e.Ago))
	switch {
	case g.Resource && canonical.Normal(e.Resource) != canonical.Normal(v.Resource.ID), !g.Resource && e.Subject != v.Subject.ID, g.Action != "" && e.Action != g.Action:
		return false
	case g.IsSeen():
		return within && e.Decision == policy.Allow && !e.NotExecuted
	case g.Reserved && e.NotExecuted:
		return false
	case g.Reserved: // what is open counts however old it is
		return within && e.Decision == policy.Allow || e.Decision == policy.Challenge || e.Decision == policy.Hold
	default:
		return within && (g.Decision() == "" || g.Decision() == string(e.Decision))
	}
}
