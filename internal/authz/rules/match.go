package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// Vars are the values of the variables of one decision.
type Vars struct {
	Context     []byte // the JSON object as it was sent; empty for {}
	Resource    Resource
	Action      Action
	Audience    string
	Environment policy.EnvironmentKind
	Assurance   policy.Assurance
	Subject     Subject
	Counts      map[Count]int        // an entry for each of Set.Counts, at most MaxCounted
	Aggregates  map[Aggregate]string // decimals, for each of Set.Aggregates
	Listed      map[Listed]bool      // whether lists have values, for each of Set.ListedFor
	Now         time.Time            // the time of the decision
	Again       Again                // of a follow-up decision
}

// Again says whether MatchAgain evaluates the rules anew that limit a resource.
type Again int

// Whether a follow-up decision reads again what its rules limit.
const (
	AsRequested Again = iota // the room that the request needs is reserved: they stay as they were decided with it
	Recounted                // Context, Resource and Aggregates have what they read
	Forgotten                // what they read of the request is no longer stored, so that they apply
)

// Resource is the target of the action.
type Resource struct{ Type, ID string }

// Action is the action that is authorized.
type Action struct{ Key, Mode, RiskClass string }

// Subject is the known facts about the subject.
type Subject struct {
	ID                string // the relying party's
	Enrollment        string // none, collecting or enrolled
	CreatedAt         time.Time
	Passkeys          int
	RecentlyRecovered bool // recovered without a passkey, so that its claims are still limited
}

// Match is a rule that applies.
type Match struct {
	Rule  policy.Rule
	Found string // why, with the values that it read except those of the request
	// Context are the properties of the context that it read, and ResourceID that it read the id of the resource. Their values
	// are not in Found: they may be confidential.
	Context    [][]string
	ResourceID bool
	Totals     []policy.ShownValue // the sums of shown amounts that it read
	Failed     bool                // it could not be evaluated, and applies for that reason
}

// unevaluated begins Found of a rule that could not be evaluated.
const unevaluated = "could not be evaluated"

// Unevaluated reports whether the stored Found of a rule is that of one which could not be evaluated.
func Unevaluated(found string) bool { return strings.HasPrefix(found, unevaluated) }

// Earlier is a rule that applied to the decision that a follow-up decision follows.
type Earlier struct {
	Name   string
	Failed bool
}

// Match returns the rules that apply to a request, in their order. A rule that cannot be evaluated applies: its condition may
// have been true. The context ends evaluation early in the same way.
func (s *Set) Match(ctx context.Context, v Vars) []Match {
	if s.Empty() {
		return nil
	}
	bound, unusable := s.bind(v)
	var out []Match
	for _, r := range s.rules {
		if m, applies := r.match(ctx, bound, unusable); applies {
			m.Totals = s.totals(r, v)
			out = append(out, m)
		}
	}
	return out
}

// MatchAgain returns the rules that apply to a follow-up decision, in their order: every rule that applied to the request,
// and those that read nothing but what is known now and apply by now. A rule that reads the context or the resource's id stays
// as it was decided with the request, because neither is stored, unless it limits a resource (Vars.Again).
func (s *Set) MatchAgain(ctx context.Context, v Vars, earlier []Earlier) []Match {
	if s.Empty() {
		return nil
	}
	if v.Again != Recounted {
		v.Context, v.Resource.ID = nil, ""
	}
	bound, unusable := s.bind(v)
	var out []Match
	for _, r := range s.rules {
		i := slices.IndexFunc(earlier, func(e Earlier) bool { return e.Name == r.Name })
		if i >= 0 {
			out = append(out, r.earlier(earlier[i]))
			continue
		}
		if r.recounts() && v.Again == Forgotten {
			out = append(out, r.failed(errForgotten))
			continue
		}
		if r.request && (!r.recounts() || v.Again == AsRequested) {
			continue
		}
		if m, applies := r.match(ctx, bound, unusable); applies {
			m.Totals = s.totals(r, v)
			out = append(out, m)
		}
	}
	return out
}

// earlier is the match of a rule that applied to the request.
func (r compiled) earlier(e Earlier) Match {
	out := r.matched("matched when it was requested: " + r.described(nil))
	out.Failed = e.Failed
	if e.Failed {
		out.Found = unevaluated + " when it was requested, so it applies"
	}
	return out
}

// matched returns a match with the confidential values that the rule reads.
func (r compiled) matched(found string) Match {
	out := Match{Rule: r.Rule, Found: found}
	for _, p := range r.reads {
		switch {
		case p[0] == varContext:
			out.Context = append(out.Context, p[1:])
		case p.ofRequest():
			out.ResourceID = true
		}
	}
	return out
}

// match evaluates the condition.
func (r compiled) match(ctx context.Context, bound map[string]any, unusable map[string]error) (Match, bool) {
	if r.program == nil {
		return r.failed(errProgram), true
	}
	for _, p := range r.reads {
		if p[0] != varContext {
			continue
		}
		for property, why := range unusable {
			if len(p) == 1 || p[1] == property {
				return r.failed(why), true
			}
		}
	}
	result, _, err := r.program.ContextEval(ctx, bound)
	if err != nil {
		return r.failed(err), true
	}
	if result != types.True {
		return Match{}, false
	}
	return r.matched("matched: " + r.described(bound)), true
}

// failed is the match of a rule that could not be evaluated.
func (r compiled) failed(err error) Match {
	out := r.matched(unevaluated + ", so it applies: " + whyFailed(err))
	out.Failed = true
	return out
}

// errProgram is the error of a stored rule that this version of the service cannot compile.
var errProgram = errors.New("this version of the service does not accept its condition")

// errForgotten is the error of a rule that limits a resource, if what it reads of the request is no longer stored.
var errForgotten = errors.New("the values of the request that it reads are no longer stored")

// whyFailed describes an error of an evaluation. The library's own messages may repeat values of the request.
func whyFailed(err error) string {
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return fmt.Sprintf("it cost more than %d units", MaxCost)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "the request ended first"
	case errors.Is(err, errDecimal), errors.Is(err, errInteger), errors.Is(err, errForm), errors.Is(err, errProgram), errors.Is(err, errListed), errors.Is(err, errForgotten):
		for _, known := range []error{errDecimal, errInteger, errForm, errProgram, errListed, errForgotten} {
			if errors.Is(err, known) {
				return known.Error()
			}
		}
	case strings.Contains(err.Error(), "no such key"), strings.Contains(err.Error(), "no such attribute"):
		return "a value that it reads is missing"
	case strings.Contains(err.Error(), "index out of"):
		return "a list that it reads has fewer items"
	case strings.Contains(err.Error(), "no such overload"):
		return "a value that it reads has a type that it cannot use"
	case strings.Contains(err.Error(), "overflow"), strings.Contains(err.Error(), "by zero"):
		return "its arithmetic has no result"
	}
	return "a value that it reads has a form that it cannot use"
}

// maxFound is the maximum length of the values in an explanation, in characters.
const maxFound = 400

// described lists what the rule read: values where they are bound and not confidential, names otherwise.
func (r compiled) described(bound map[string]any) string {
	var parts []string
	for _, p := range r.reads {
		parts = append(parts, describe(p, bound))
	}
	for _, c := range r.counts {
		text := c.text()
		if counts, ok := bound[varCounts].(map[string]int64); ok {
			sign, n, most := "=", counts[c.key()], int64(r.most[c])
			if n >= most {
				sign, n = ">=", most // more were not counted
			}
			text = fmt.Sprintf("%s %s %d", text, sign, n)
		}
		parts = append(parts, text)
	}
	parts = append(parts, r.describeAggregates(bound)...)
	for _, l := range r.lists {
		parts = append(parts, listText(l.Name))
	}
	if len(parts) == 0 {
		return "it reads nothing"
	}
	out := []rune(strings.Join(parts, ", "))
	if len(out) > maxFound {
		return string(out[:maxFound]) + "..."
	}
	return string(out)
}

// describe returns one value for an explanation.
func describe(p path, bound map[string]any) string {
	name := p.String()
	if bound == nil || p.ofRequest() || name == varSubject+".id" {
		return name
	}
	var at any = bound
	for _, step := range p {
		fields, ok := at.(map[string]any)
		if !ok {
			return name
		}
		if at, ok = fields[step]; !ok {
			return name + " missing"
		}
	}
	switch at := at.(type) {
	case map[string]any:
		return name
	case time.Time:
		return name + " = " + at.UTC().Format(time.RFC3339)
	case time.Duration:
		return name + " = " + at.Truncate(time.Second).String()
	default:
		return fmt.Sprintf("%s = %v", name, at)
	}
}
