package rules

import (
	"errors"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// decimalType is the type of exact decimal numbers.
var decimalType = types.NewOpaqueType("decimal").WithTraits(traits.ComparerType | traits.AdderType | traits.SubtractorType)

// decimalForm is the form of a decimal number in a string. The digits bound the cost of arithmetic.
var decimalForm = regexp.MustCompile(`^-?[0-9]{1,40}(\.[0-9]{1,20})?$`)

// errDecimal does not repeat the value, which may be confidential.
var errDecimal = errors.New("decimal() reads digits with an optional sign and an optional point, such as 1250.50: at most 40 digits before the point and 20 after it")

// decimal is an exact decimal number.
type decimal struct{ r *big.Rat }

// newDecimal converts a string, an integer or a number. A number is read as the shortest decimal that denotes it, so that
// decimal(0.1) is 0.1 exactly.
func newDecimal(v ref.Val) ref.Val {
	switch v := v.(type) {
	case decimal:
		return v
	case types.String:
		if decimalForm.MatchString(string(v)) {
			r, _ := new(big.Rat).SetString(string(v))
			return decimal{r}
		}
	case types.Int:
		return decimal{new(big.Rat).SetInt64(int64(v))}
	case types.Double:
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
			return decimal{r}
		}
	}
	return types.WrapErr(errDecimal)
}

// ConvertToNative implements ref.Val. A decimal never leaves a condition.
func (d decimal) ConvertToNative(reflect.Type) (any, error) { return nil, errDecimal }

// ConvertToType implements ref.Val.
func (d decimal) ConvertToType(ref.Type) ref.Val { return types.WrapErr(errDecimal) }

// Equal implements ref.Val.
func (d decimal) Equal(other ref.Val) ref.Val {
	o, ok := other.(decimal)
	return types.Bool(ok && d.r.Cmp(o.r) == 0)
}

// Compare implements traits.Comparer, with numbers of the other types as well.
func (d decimal) Compare(other ref.Val) ref.Val {
	if o, ok := newDecimal(other).(decimal); ok {
		return types.Int(d.r.Cmp(o.r))
	}
	return types.MaybeNoSuchOverloadErr(other)
}

// Add implements traits.Adder.
func (d decimal) Add(other ref.Val) ref.Val {
	o, ok := other.(decimal)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return decimal{new(big.Rat).Add(d.r, o.r)}
}

// Subtract implements traits.Subtractor.
func (d decimal) Subtract(other ref.Val) ref.Val {
	o, ok := other.(decimal)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return decimal{new(big.Rat).Sub(d.r, o.r)}
}

// Type implements ref.Val.
func (d decimal) Type() ref.Type { return decimalType }

// Value implements ref.Val.
func (d decimal) Value() any { return d.r }

// decimalFunctions declares decimal(), its comparisons with itself and with number literals, and its sums.
func decimalFunctions() []cel.EnvOption {
	unary := func(id string, from *types.Type) cel.FunctionOpt {
		return cel.Overload("decimal_"+id, []*types.Type{from}, decimalType, cel.UnaryBinding(newDecimal))
	}
	options := []cel.EnvOption{cel.Function("decimal", unary("string", types.StringType), unary("int", types.IntType), unary("double", types.DoubleType))}
	for name, op := range map[string]string{
		"less": operators.Less, "less_equals": operators.LessEquals, "greater": operators.Greater, "greater_equals": operators.GreaterEquals,
	} {
		options = append(options, cel.Function(op,
			cel.Overload(name+"_decimal", []*types.Type{decimalType, decimalType}, types.BoolType),
			cel.Overload(name+"_decimal_int", []*types.Type{decimalType, types.IntType}, types.BoolType),
			cel.Overload(name+"_decimal_double", []*types.Type{decimalType, types.DoubleType}, types.BoolType)))
	}
	for name, op := range map[string]string{"add": operators.Add, "subtract": operators.Subtract} {
		options = append(options, cel.Function(op, cel.Overload(name+"_decimal", []*types.Type{decimalType, decimalType}, decimalType)))
	}
	return options
}
