package rules

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// MaxCounted is where every count stops: a subject with more decisions counts as having this many. A count that is only compared
// with literals stops above the highest.
const MaxCounted = 1000

const (
	// anyOutcome counts decisions of every outcome.
	anyOutcome = "any"
	// signalled stands in place of the outcome in a count of security events.
	signalled = "signal"
)

// outcomes are the outcomes that a condition can count.
var outcomes = []string{string(policy.Allow), string(policy.Challenge), string(policy.Hold), string(policy.Deny), anyOutcome}

// actionKey is the form of an action's key, as in the contract.
var actionKey = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)

// Count is a number of decisions about the subject in the environment: about one action, with one outcome, up to now. Or it is a number of security
// events about the subject (Signals).
type Count struct {
	Action  string // or the type of the event
	Outcome string // allow, challenge, hold, deny or any
	Window  string // see isWindow
	// Unapproved counts what no person approved, of what was allowed.
	Unapproved bool
}

// Signals returns the number of security events of a type within a window.
func Signals(kind, window string) Count {
	return Count{Action: kind, Outcome: signalled, Window: window}
}

// Signal returns the type of the security events that are counted; empty if decisions are.
func (c Count) Signal() string {
	if c.Outcome != signalled {
		return ""
	}
	return c.Action
}

// Since returns when the window began that ends at a time.
func (c Count) Since(at time.Time) time.Time { return sinceOf(c.Window, at) }

// Outcomes returns the outcomes that are counted.
func (c Count) Outcomes() []string {
	if c.Outcome == anyOutcome {
		return outcomes[:len(outcomes)-1]
	}
	return []string{c.Outcome}
}

// key is the name of the count in the hidden variable that holds the counts.
func (c Count) key() string {
	return strings.Join([]string{c.Action, c.Outcome, c.Window, strconv.FormatBool(c.Unapproved)}, " ")
}

// text is the count as a condition writes it.
func (c Count) text() string {
	if c.Signal() != "" {
		return `subject.signals("` + c.Action + `", "` + c.Window + `")`
	}
	var filter Filter
	if c.Unapproved {
		filter = filterOf([]Sought{{byPerson, "false"}})
	}
	return `subject.decisions("` + c.Action + `", "` + c.Outcome + `", "` + c.Window + `"` + filter.text() + ")"
}

// fault returns which of the fields cannot be used, and what it is instead; an empty text if all can.
func (c Count) fault() (at int, why string) {
	switch {
	case len(c.Action) > 128 || !actionKey.MatchString(c.Action):
		return 0, "an action's key such as payments.transfer"
	case !slices.Contains(outcomes, c.Outcome):
		return 1, "one of " + strings.Join(outcomes, ", ")
	case !isWindow(c.Window):
		return 2, windowForm
	default:
		return 0, ""
	}
}

func countFrom(key string) Count {
	parts := strings.Split(key, " ")
	return Count{parts[0], parts[1], parts[2], parts[3] == "true"}
}

// varCounts is the hidden variable with the counts. No condition can name it.
const varCounts = "@counts"

// decisionsForm says whose function decisions() is, for messages.
const decisionsForm = `decisions() is a function of subject: subject.decisions("payments.transfer", "allow", "24h")`

// countsMacro replaces subject.decisions(action, outcome, window) by an entry of the hidden variable. Its arguments are literals,
// so that the counts that a policy needs are known before any request.
func countsMacro() cel.EnvOption {
	return cel.Macros(cel.ReceiverMacro(functionDecisions, 3, func(eh parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if target.Kind() != ast.IdentKind || target.AsIdent() != varSubject {
			return nil, eh.NewError(target.ID(), decisionsForm)
		}
		texts := make([]string, len(args))
		for i, a := range args {
			literal, ok := stringLiteral(a)
			if !ok {
				return nil, eh.NewError(a.ID(), "the arguments of subject.decisions() are literal strings: an action's key, an outcome and a window")
			}
			texts[i] = literal
		}
		c := Count{Action: texts[0], Outcome: texts[1], Window: texts[2]}
		if at, why := c.fault(); why != "" {
			return nil, eh.NewError(args[at].ID(), fmt.Sprintf("argument %d of subject.decisions() is %s", at+1, why))
		}
		return eh.NewCall("_[_]", eh.NewIdent(varCounts), eh.NewLiteral(types.String(c.key()))), nil
	}))
}

// SignalTypes are the types of security events that rules count, as CAEP and RISC name them without their prefix.
var SignalTypes = []string{
	"account-credential-change-required", "account-disabled", "account-enabled", "account-purged", "assurance-level-change", "credential-change", "credential-compromise",
	"device-compliance-change", "identifier-changed", "identifier-recycled", "recovery-activated", "recovery-information-changed", "risk-level-change",
	"session-revoked", "token-claims-change",
}

// signalsMacro replaces subject.signals(type, window) by an entry of the hidden variable, as countsMacro does.
func signalsMacro() cel.EnvOption {
	return cel.Macros(cel.ReceiverMacro("signals", 2, func(eh parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if target.Kind() != ast.IdentKind || target.AsIdent() != varSubject {
			return nil, eh.NewError(target.ID(), "signals() is a function of subject: subject.signals(\"session-revoked\", \"24h\")")
		}
		kind, first := stringLiteral(args[0])
		window, second := stringLiteral(args[1])
		switch {
		case !first || !second:
			return nil, eh.NewError(args[0].ID(), "the arguments of subject.signals() are literal strings: a type of security events and a window")
		case !slices.Contains(SignalTypes, kind):
			return nil, eh.NewError(args[0].ID(), "argument 1 of subject.signals() is one of "+strings.Join(SignalTypes, ", "))
		case !isWindow(window):
			return nil, eh.NewError(args[1].ID(), "argument 2 of subject.signals() is "+windowForm)
		}
		return eh.NewCall("_[_]", eh.NewIdent(varCounts), eh.NewLiteral(types.String(Signals(kind, window).key()))), nil
	}))
}

// CountsFor returns the counts on which the rules still depend when the request is known: v needs its context, resource, action,
// audience and environment. Most of the cost of a rule is that of counting, and a rule for large payments need not count for a
// small one.
//
// A condition is evaluated without its counts and without what is not known yet. Reading one of them is an error, and in CEL a
// condition that is false in spite of an error is false whatever the value is.
func (s *Set) CountsFor(ctx context.Context, v Vars) []Count {
	if s == nil || len(s.counts) == 0 {
		return nil
	}
	bound, _ := s.bound(v, s.asked)
	var out []Count
	for _, r := range s.rules {
		if len(r.counts) == 0 || r.isFalse(ctx, bound) {
			continue
		}
		for _, c := range r.counts {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// isFalse reports whether the condition is false with these variables.
func (r compiled) isFalse(ctx context.Context, bound map[string]any) bool {
	if r.program == nil {
		return false
	}
	result, _, err := r.program.ContextEval(ctx, bound)
	return err == nil && result == types.False
}

// count adds the count that an expression reads, and that its value is the same from most on.
func (a *analysis) count(e ast.Expr, most int) {
	key, _ := stringLiteral(e.AsCall().Args()[1])
	count := countFrom(key)
	if !slices.Contains(a.counts, count) {
		a.counts = append(a.counts, count)
	}
	a.most[count] = max(a.most[count], most)
}

// limit adds the count, or the aggregate, that is compared with a literal, and reports whether e is such a comparison. From one more than the
// literal on the comparison has the same result, so that decisions beyond it need not be counted: most of the cost of a rule is
// that of counting.
func (a *analysis) limit(e ast.Expr, present []string) bool {
	switch e.AsCall().FunctionName() {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
	default:
		return false
	}
	args := e.AsCall().Args()
	for i, arg := range args {
		other := args[1-i]
		if number, ok := a.addedTo(arg); ok {
			if above, literal := numberLiteral(other); literal {
				a.aggregate(number, above, present)
				a.visitAmount(arg, present)
				return true
			}
		}
		if !isCount(arg) || other.Kind() != ast.LiteralKind {
			continue
		}
		if n, ok := other.AsLiteral().(types.Int); ok {
			a.count(arg, min(int(max(n, 0)), MaxCounted-1)+1)
			return true
		}
	}
	return false
}

func isCount(e ast.Expr) bool { return isEntryOf(e, varCounts) }

// isEntryOf reports whether an expression is an entry of a hidden variable.
func isEntryOf(e ast.Expr, variable string) bool {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Index {
		return false
	}
	of := e.AsCall().Args()[0]
	return of.Kind() == ast.IdentKind && of.AsIdent() == variable
}

func stringLiteral(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}
