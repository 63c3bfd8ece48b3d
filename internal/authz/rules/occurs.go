package rules

import (
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// WarnNever is the code of the warning about a part of a time that never occurs. A new version with one is refused; versions of 1.0.0 keep
// deciding as they did.
const WarnNever = "never_occurs"

// occurring are the numbers that a part of a time can be, with a sentence about how it counts.
var occurring = map[string]struct {
	least, most types.Int
	counts      string
}{
	overloads.TimeGetMonth:      {0, 11, "January is 0 and December 11"},
	overloads.TimeGetDayOfWeek:  {0, 6, "Sunday is 0 and Saturday 6"},
	overloads.TimeGetDate:       {1, 31, "the first day of a month is 1"},
	overloads.TimeGetDayOfMonth: {0, 30, "the first day of a month is 0; getDate counts from 1"},
	overloads.TimeGetDayOfYear:  {0, 365, "January 1 is 0"},
	overloads.TimeGetHours:      {0, 23, "midnight is 0"},
	overloads.TimeGetMinutes:    {0, 59, "they begin with 0"},
	overloads.TimeGetSeconds:    {0, 59, "they begin with 0"},
}

// occurs finds literals that a part of a time is compared with and never is.
func (a *analysis) occurs(e ast.Expr) {
	args := e.AsCall().Args()
	if len(args) != 2 {
		return
	}
	switch e.AsCall().FunctionName() {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		a.never(args[0], args[1])
		a.never(args[1], args[0])
	case operators.In:
		if args[1].Kind() == ast.ListKind {
			for _, item := range args[1].AsList().Elements() {
				a.never(args[0], item)
			}
		}
	}
}

// never records that a part of a timestamp is never a literal. An author may write that hours are less than 24.
func (a *analysis) never(part, literal ast.Expr) {
	if part.Kind() != ast.CallKind || literal.Kind() != ast.LiteralKind || !part.AsCall().IsMemberFunction() {
		return
	}
	c := part.AsCall()
	n, isInt := literal.AsLiteral().(types.Int)
	of, known := occurring[c.FunctionName()]
	if !isInt || !known || a.tree.GetType(c.Target().ID()).Kind() != types.TimestampKind {
		return
	}
	end := of.most
	if of.least == 0 && (end == 23 || end == 59) {
		end++
	}
	if n >= of.least && n <= end {
		return
	}
	line, column := place(a.tree, literal.ID())
	a.nevers = append(a.nevers, Fault{Line: line, Column: column, Why: fmt.Sprintf("%s is %d to %d and never %d: %s", c.FunctionName(), of.least, of.most, n, of.counts)})
}
