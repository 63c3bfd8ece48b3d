package rules

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/parser"
)

// MaxListed is the maximum number of values of a request that are looked up in lists.
const MaxListed = 100

// ListName is the form of a list's name, as in the contract.
var ListName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Listed is a question of a condition: whether a list of the environment has a value.
type Listed struct{ List, Value string }

// UsedList is a list that a condition names, with the first place.
type UsedList struct {
	Name string
	At   Fault // Why is empty
}

// varLists is the hidden variable with the lists. No condition can name it.
const varLists = "@lists"

// listType is the type of list("NAME"), which only `in` accepts.
var listType = types.NewOpaqueType("named list").WithTraits(traits.ContainerType)

var (
	errListed  = errors.New("a list that it reads could not be asked")
	errUnasked = errors.New("the value is not looked up yet")
)

// listFunctions declares list("NAME") and `in` for it. The name is a literal, so that the lists that a policy needs are known
// before any request.
func listFunctions() []cel.EnvOption {
	macro := cel.GlobalMacro("list", 1, func(eh parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		name, ok := stringLiteral(args[0])
		if !ok || !ListName.MatchString(name) {
			return nil, eh.NewError(args[0].ID(), "the argument of list() is the name of a list of the environment, such as list(\"trusted_payees\")")
		}
		return eh.NewCall(operators.Index, eh.NewIdent(varLists), eh.NewLiteral(types.String(name))), nil
	})
	return []cel.EnvOption{
		cel.Macros(macro), cel.Variable(varLists, types.NewMapType(types.StringType, listType)),
		cel.Function(operators.In, cel.Overload("in_named_list", []*types.Type{types.StringType, listType}, types.BoolType)),
	}
}

// named is the value of list("NAME") in an evaluation. It asks whether the list has a value.
type named struct {
	name string
	ask  func(Listed) (bool, error)
}

// Contains implements traits.Container.
func (n named) Contains(value ref.Val) ref.Val {
	text, ok := value.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(value)
	}
	found, err := n.ask(Listed{n.name, string(text)})
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(found)
}

// ConvertToNative implements ref.Val. A list never leaves a condition.
func (n named) ConvertToNative(reflect.Type) (any, error) { return nil, errListed }

// ConvertToType implements ref.Val.
func (n named) ConvertToType(ref.Type) ref.Val { return types.WrapErr(errListed) }

// Equal implements ref.Val.
func (n named) Equal(ref.Val) ref.Val { return types.False }

// Type implements ref.Val.
func (n named) Type() ref.Type { return listType }

// Value implements ref.Val.
func (n named) Value() any { return n.name }

// bindLists binds the lists that the rules name.
func (s *Set) bindLists(bound map[string]any, ask func(Listed) (bool, error)) {
	lists := make(map[string]ref.Val, len(s.lists))
	for _, l := range s.lists {
		lists[l.Name] = named{l.Name, ask}
	}
	bound[varLists] = lists
}

// looked returns the results of the look-up; a condition that asks for anything else cannot be evaluated.
func looked(found map[Listed]bool) func(Listed) (bool, error) {
	return func(l Listed) (bool, error) {
		has, asked := found[l]
		if !asked {
			return false, errListed
		}
		return has, nil
	}
}

// Lists returns the lists that the rules name.
func (s *Set) Lists() []UsedList {
	if s == nil {
		return nil
	}
	return s.lists
}

// ListedFor returns what the rules ask of lists when the request is known, as for CountsFor and with the subject's id: at most MaxListed
// questions. A rule with more cannot be evaluated.
func (s *Set) ListedFor(ctx context.Context, v Vars) []Listed {
	if s == nil || len(s.lists) == 0 {
		return nil
	}
	bound, _ := s.bound(v, s.asked)
	bound[varSubject] = map[string]any{"id": v.Subject.ID}
	return s.questions(bound, func(r compiled) bool { return r.isFalse(ctx, bound) })
}

// ReplayListed is ListedFor for Replay: it asks for every value that is known, of the lists that are.
func (s *Set) ReplayListed(ctx context.Context, v Vars, known Known) []Listed {
	if s == nil || len(s.lists) == 0 {
		return nil
	}
	bound, unusable := s.bind(v)
	return s.questions(bound, func(r compiled) bool {
		_, result := r.replay(ctx, bound, unusable, known)
		return !result.applies && len(result.unknown) == 0
	})
}

// questions returns what the rules ask of lists with these variables. isFalse evaluates a rule, and reports whether it is false whatever
// the lists have.
func (s *Set) questions(bound map[string]any, isFalse func(r compiled) bool) []Listed {
	var out, asked []Listed
	s.bindLists(bound, func(l Listed) (bool, error) {
		if len(asked) <= MaxListed && !slices.Contains(asked, l) {
			asked = append(asked, l)
		}
		return false, errUnasked
	})
	for _, r := range s.rules {
		if asked = nil; len(r.lists) == 0 || isFalse(r) {
			continue
		}
		for _, l := range asked {
			if len(out) < MaxListed && !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// listed collects the lists that a condition names. What is asked of a list must be known before any other fact is: each question is written
// so that it is evaluated whatever the other parts come to, and reads the request only.
func (a *analysis) listed(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		c := e.AsCall()
		switch c.FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
			for _, arg := range c.Args() {
				a.listed(arg)
			}
			return
		case operators.Conditional:
			a.listed(c.Args()[0])
			a.unlisted(c.Args()[1])
			a.unlisted(c.Args()[2])
			return
		case operators.In:
			if isEntryOf(c.Args()[1], varLists) {
				a.useList(c.Args()[1])
				a.unlisted(c.Args()[0])
				a.known(c.Args()[0])
				return
			}
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		a.unlisted(c.IterRange())
		before := a.asks
		a.listed(c.LoopStep())
		if a.asks > before {
			a.known(c.IterRange())
		}
		return
	}
	a.unlisted(e)
}

// unlisted refuses lists in an expression.
func (a *analysis) unlisted(e ast.Expr) {
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(below ast.Expr) {
		if isEntryOf(below, varLists) {
			a.fault(below.ID(), "list() stands after `in`, and that in && and || only: write X in list(\"NAME\") && ..., not in the branches of ?: and not as an argument")
		}
	}))
}

// known refuses an expression that reads more than the request.
func (a *analysis) known(e ast.Expr) {
	of := &analysis{tree: a.tree, objects: a.objects, most: map[Count]int{}}
	of.visit(e, nil)
	unknown := slices.ContainsFunc(of.reads, func(p path) bool {
		return !slices.Contains(requestVars, p[0]) && !slices.Equal(p, path{varSubject, "id"})
	})
	if unknown || len(of.counts) > 0 {
		a.fault(e.ID(), "a list is checked for values of the request: those of context, resource, action, audience and environment, and subject.id")
	}
}

// useList adds the list that an expression names.
func (a *analysis) useList(e ast.Expr) {
	a.asks++
	name, _ := stringLiteral(e.AsCall().Args()[1])
	if !slices.ContainsFunc(a.lists, func(l UsedList) bool { return l.Name == name }) {
		line, column := place(a.tree, e.ID())
		a.lists = append(a.lists, UsedList{Name: name, At: Fault{Line: line, Column: column}})
	}
}

func listText(name string) string { return fmt.Sprintf("list(%q)", name) }
