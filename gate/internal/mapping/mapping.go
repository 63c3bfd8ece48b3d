// Package mapping computes what a request or the call of a tool asks for: the resource, the context and the session of a decision, by CEL
// expressions over request or call, token and principal. It knows before a request which parts of it the expressions read, so that nothing ambiguous is read.
package mapping

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/countersign-dev/countersign/gate/internal/request"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// maxCost limits one evaluation, in the cost units of cel-go, each at most some 100 ns. maxText is the longest expression.
const (
	maxCost = 100_000
	maxText = 4000
)

// Expressions are the sources of a mapping.
type Expressions struct {
	ResourceID, Session string
	Context             map[string]string // by name of the property
}

// Reads are the parts of a request that a mapping reads.
type Reads struct {
	Query, Headers []string // names; headers in lower case
	Params         []string
	Body, Token    bool
	Facts          bool // token.acr, token.auth_time or token.amr
}

// Mapping is compiled expressions. It is safe for concurrent use.
type Mapping struct {
	Reads    Reads
	resource cel.Program
	session  cel.Program // nil for none
	context  map[string]cel.Program
}

// Input has the values that the expressions read besides the request.
type Input struct {
	Params    map[string]string
	Token     map[string]any // claims; nil without a token
	Subject   string
	Issuer    string
	Principal string // what the subject comes from: jwt or header
}

// Values describe the decision that a request needs. Digest covers all of them.
type Values struct {
	ResourceID, Session string
	Context             map[string]any
	ContextDigest       string
	Digest              string
}

// Source names the variable that a mapping reads besides token and principal.
type Source string

// The sources: an HTTP request, and the call of a tool.
const (
	Request Source = "request"
	Call    Source = "call"
)

var environments = map[Source]*cel.Env{Request: environment(Request), Call: environment(Call)}

func environment(source Source) *cel.Env {
	env, err := cel.NewEnv(cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true), cel.OptionalTypes(),
		cel.Variable(string(source), cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("token", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("principal", cel.MapType(cel.StringType, cel.StringType)))
	if err != nil {
		panic(err) // the options are constants
	}
	return env
}

// Compile compiles the expressions over a source. An error names the expression (resource.id, session, or context.NAME) and what is wrong.
func Compile(source Source, x Expressions) (*Mapping, error) {
	m := &Mapping{context: map[string]cel.Program{}}
	var err error
	if m.resource, err = m.compile(source, "resource.id", x.ResourceID); err != nil {
		return nil, err
	}
	if x.Session != "" {
		if m.session, err = m.compile(source, "session", x.Session); err != nil {
			return nil, err
		}
	}
	for name, text := range x.Context {
		if m.context[name], err = m.compile(source, "context."+name, text); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Error is a fault of one expression.
type Error struct{ At, Why string }

// Error returns the place and the fault.
func (e *Error) Error() string { return e.At + ": " + e.Why }

func (m *Mapping) compile(source Source, at, text string) (cel.Program, error) {
	if len(text) > maxText {
		return nil, &Error{at, fmt.Sprintf("the expression is longer than %d bytes", maxText)}
	}
	environment := environments[source]
	checked, issues := environment.Compile(text)
	if issues.Err() != nil {
		return nil, &Error{at, issues.Err().Error()}
	}
	if err := m.Reads.add(checked.NativeRep().Expr()); err != nil {
		return nil, &Error{at, err.Error()}
	}
	program, err := environment.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(nil), cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, &Error{at, err.Error()}
	}
	return program, nil
}

// fields are the members of request, and callFields those of call.
var (
	fields     = []string{"method", "host", "scheme", "path", "ip", "params", "query", "headers", "body"}
	callFields = []string{"server", "tool", "agent", "arguments"}
)

// add records what an expression reads. Parts that a client chooses the names of are read by a constant name only.
func (r *Reads) add(root ast.Expr) error {
	var faults []error
	named := map[int64]bool{} // identifiers and maps that a constant name is read of
	visit := func(e ast.Expr) {
		operand, name, ok := member(e)
		if !ok {
			return
		}
		if inner, field, isField := member(operand); isField && inner.Kind() == ast.IdentKind && inner.AsIdent() == "request" && slices.Contains([]string{"query", "headers", "params"}, field) {
			named[operand.ID()] = true
			r.part(field, name)
		}
		if operand.Kind() == ast.IdentKind {
			named[operand.ID()] = true
			faults = append(faults, r.top(operand.AsIdent(), name))
		}
	}
	ast.PreOrderVisit(root, ast.NewExprVisitor(visit))
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind && slices.Contains([]string{"request", "call", "token", "principal"}, e.AsIdent()) && !named[e.ID()] {
			faults = append(faults, fmt.Errorf("%s must be followed by the name of a member, such as %s.%s", e.AsIdent(), e.AsIdent(), examples[e.AsIdent()]))
		}
		if inner, field, ok := member(e); ok && inner.Kind() == ast.IdentKind && inner.AsIdent() == "request" &&
			slices.Contains([]string{"query", "headers", "params"}, field) && !named[e.ID()] {
			faults = append(faults, fmt.Errorf("request.%s must be followed by a constant name, such as request.%s.amount or request.%s['amount']", field, field, field))
		}
	}))
	return errors.Join(faults...)
}

var examples = map[string]string{"request": "params.id", "call": "arguments", "token": "sub", "principal": "subject"}

// member returns the operand and the constant name of a.b, a['b'], has(a.b) and 'b' in a.
func member(e ast.Expr) (operand ast.Expr, name string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			return constant(args[0], args[1])
		case operators.In:
			return constant(args[1], args[0])
		}
	}
	return nil, "", false
}

func constant(operand, key ast.Expr) (ast.Expr, string, bool) {
	if key.Kind() != ast.LiteralKind {
		return nil, "", false
	}
	name, ok := key.AsLiteral().Value().(string)
	return operand, name, ok
}

func (r *Reads) top(variable, name string) error {
	switch variable {
	case "request":
		if !slices.Contains(fields, name) {
			return fmt.Errorf("request has no member %s: it has %s", name, strings.Join(fields, ", "))
		}
		r.Body = r.Body || name == "body"
	case "call":
		if !slices.Contains(callFields, name) {
			return fmt.Errorf("call has no member %s: it has %s", name, strings.Join(callFields, ", "))
		}
	case "token":
		r.Token = true
		r.Facts = r.Facts || slices.Contains([]string{"acr", "auth_time", "amr"}, name)
	case "principal":
		if !slices.Contains([]string{"subject", "issuer", "source"}, name) {
			return fmt.Errorf("principal has no member %s: it has subject, issuer and source", name)
		}
	}
	return nil
}

func (r *Reads) part(field, name string) {
	list := map[string]*[]string{"query": &r.Query, "headers": &r.Headers, "params": &r.Params}[field]
	if field == "headers" {
		name = strings.ToLower(name)
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// Values evaluates the mapping for a request. The error is a *request.Refusal if a part that it reads is ambiguous, and otherwise says which
// expression cannot be evaluated for this request.
func (m *Mapping) Values(ctx context.Context, r *request.Request, in Input) (*Values, error) {
	variables, err := m.variables(r, in)
	if err != nil {
		return nil, err
	}
	return m.values(ctx, variables, nil, map[string]any{"method": r.Method, "path": r.Path.Canonical})
}

// CallInput is the call of a tool. Fixed are members of the context that no expression computes.
type CallInput struct {
	Input
	Server, Tool, Agent string
	Arguments           map[string]any
	Fixed               map[string]any
}

// CallValues evaluates the mapping for the call of a tool. The error says which expression cannot be evaluated for this call.
func (m *Mapping) CallValues(ctx context.Context, in CallInput) (*Values, error) {
	variables := in.variables()
	variables["call"] = map[string]any{"server": in.Server, "tool": in.Tool, "agent": in.Agent, "arguments": in.Arguments}
	return m.values(ctx, variables, in.Fixed, map[string]any{"server": in.Server})
}

// values evaluates the expressions. The digest covers their values and what binds them.
func (m *Mapping) values(ctx context.Context, variables, fixed, bound map[string]any) (*Values, error) {
	out := &Values{Context: map[string]any{}}
	maps.Copy(out.Context, fixed)
	id, err := evaluate(ctx, "resource.id", m.resource, variables)
	if err != nil {
		return nil, err
	}
	if out.ResourceID, err = text("resource.id", id); err != nil {
		return nil, err
	}
	if m.session != nil {
		session, err := evaluate(ctx, "session", m.session, variables)
		if err != nil {
			return nil, err
		}
		if out.Session, err = text("session", session); err != nil {
			return nil, err
		}
	}
	for name, program := range m.context {
		if out.Context[name], err = evaluate(ctx, "context."+name, program, variables); err != nil {
			return nil, err
		}
	}
	if out.ContextDigest, err = proof.ContextDigest(out.Context); err != nil {
		return nil, &Error{"context", err.Error()}
	}
	bound["id"], bound["session"], bound["context"] = out.ResourceID, out.Session, out.ContextDigest
	out.Digest, err = proof.ContextDigest(bound)
	return out, err
}

// variables are those of every source.
func (in Input) variables() map[string]any {
	token := in.Token
	if token == nil {
		token = map[string]any{}
	}
	return map[string]any{"token": token, "principal": map[string]string{"subject": in.Subject, "issuer": in.Issuer, "source": in.Principal}}
}

func (m *Mapping) variables(r *request.Request, in Input) (map[string]any, error) {
	query, headers := map[string]any{}, map[string]any{}
	for _, name := range m.Reads.Query {
		value, given, err := r.Parameter(name)
		if err != nil {
			return nil, err
		}
		if given {
			query[name] = value
		}
	}
	for _, name := range m.Reads.Headers {
		value, given, err := r.Value(name)
		if err != nil {
			return nil, err
		}
		if given {
			headers[name] = value
		}
	}
	var body any
	if m.Reads.Body {
		var err error
		if body, err = r.JSON(); err != nil {
			return nil, err
		}
	}
	params := make(map[string]any, len(in.Params))
	for name, value := range in.Params {
		params[name] = value
	}
	variables := in.variables()
	variables["request"] = map[string]any{"method": r.Method, "host": r.Host, "scheme": r.Scheme, "path": r.Path.Canonical, "ip": r.IP.String(),
		"params": params, "query": query, "headers": headers, "body": body}
	return variables, nil
}

var valueType = reflect.TypeFor[*structpb.Value]()

// evaluate returns the result as JSON data.
func evaluate(ctx context.Context, at string, program cel.Program, variables map[string]any) (any, error) {
	result, _, err := program.ContextEval(ctx, variables)
	if err != nil {
		return nil, &Error{at, err.Error()}
	}
	if types.IsUnknownOrError(result) {
		return nil, &Error{at, "it has no value"}
	}
	native, err := result.ConvertToNative(valueType)
	if err != nil {
		return nil, &Error{at, "its value is not JSON"}
	}
	return native.(*structpb.Value).AsInterface(), nil
}

func text(at string, value any) (string, error) {
	if s, ok := value.(string); ok && s != "" && len(s) <= 256 {
		return s, nil
	}
	return "", &Error{at, "its value must be a text of 1 to 256 bytes"}
}
