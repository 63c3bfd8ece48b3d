package features

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/strictjson"
)

// Status is what becomes of a submitted features object.
type Status string

// Accepted frames are scored; neutral ones are well formed and say nothing; rejected ones are not kept in any form.
const (
	Accepted Status = "accepted"
	Neutral  Status = "neutral"
	Rejected Status = "rejected"
)

// Reason codes of Parse.
const (
	ReasonMalformed   = "features_malformed"
	ReasonSchema      = "features_schema_unsupported"
	ReasonRawContent  = "features_raw_content"
	ReasonUnknown     = "features_unknown_cell"
	ReasonImpossible  = "features_impossible_value"
	ReasonNotBinned   = "features_counts_not_binned"
	ReasonTooLarge    = "features_too_large"
	ReasonContradicts = "features_contradictory"
	ReasonEmpty       = "features_empty"
)

// Result is the outcome of Parse. Detail says where and which rule; it never repeats submitted names or values.
type Result struct {
	Status  Status
	Frame   Frame
	Reasons []string
	Detail  string
}

type parseError struct{ reason, detail string }

func refuse(reason, format string, args ...any) *parseError {
	return &parseError{reason, fmt.Sprintf(format, args...)}
}

// Parse checks the features object of a submitted frame. Anything but the schema's numbers is refused: text, arrays
// other than [n, mean], unknown names, numbers out of a cell's range, exact counts. It never panics.
func Parse(raw []byte) Result {
	if len(raw) > MaxBytes {
		return rejected(refuse(ReasonTooLarge, "features: more than %d bytes", MaxBytes))
	}
	tree, err := decode(raw)
	if err != nil {
		return rejected(err)
	}
	frame, err := readFrame(tree)
	if err != nil {
		return rejected(err)
	}
	if len(frame.Blocks) == 0 {
		return Result{Status: Neutral, Frame: frame, Reasons: []string{ReasonEmpty}, Detail: "features: no events"}
	}
	return Result{Status: Accepted, Frame: frame}
}

func rejected(err *parseError) Result {
	return Result{Status: Rejected, Reasons: []string{err.reason}, Detail: err.detail}
}

// maxDepth is the depth of {"keystroke":{"cells":{"h:LP":[2,0.1]}}}.
const maxDepth = 4

// decode reads the text strictly: a name that is there twice does not hide behind its last value.
func decode(raw []byte) (map[string]any, *parseError) {
	v, err := strictjson.Decode(raw, strictjson.Limits{MaxDepth: maxDepth, AnyFinite: true})
	if err != nil {
		return nil, undecodable(err)
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, refuse(ReasonMalformed, "features: must be an object")
	}
	return tree, nil
}

func undecodable(err error) *parseError {
	var value *strictjson.ValueError
	if !errors.As(err, &value) {
		return refuse(ReasonMalformed, "features: not valid JSON")
	}
	switch value.Type {
	case strictjson.TypeTooDeep:
		return refuse(ReasonRawContent, "features: nested deeper than %d", maxDepth)
	case strictjson.TypeDuplicateKey:
		return refuse(ReasonMalformed, "features: a name occurs twice in one object")
	case strictjson.TypeNumberOutOfRange, strictjson.TypeNumberTooLong:
		return refuse(ReasonImpossible, "features: a number that is too long or that no double holds")
	default:
		return refuse(ReasonMalformed, "features: a text with characters that are refused, or too many names")
	}
}

// isRaw says whether v is of a kind that could hold content: a text, or an array other than [n, mean].
func isRaw(v any) bool {
	switch v := v.(type) {
	case string:
		return true
	case []any:
		return len(v) > 2 || slices.ContainsFunc(v, func(x any) bool { _, number := x.(float64); return !number })
	default:
		return false
	}
}

// rawNames are names under which raw content is commonly sent. They are unknown names anyway; naming them apart tells
// an integrator that the refusal is about privacy and not about a typing error.
var rawNames = map[string]bool{
	"key": true, "keys": true, "code": true, "codes": true, "text": true, "char": true, "chars": true, "value": true,
	"content": true, "input": true, "password": true, "x": true, "y": true, "points": true, "coords": true,
	"coordinates": true, "path": true, "positions": true, "image": true, "images": true, "screenshot": true,
	"frame": true, "video": true, "camera": true, "html": true, "url": true, "title": true, "clipboard": true,
	"events": true, "raw": true, "stream": true, "target": true, "element": true, "selector": true,
}

// unknownName explains a name the schema does not have.
func unknownName(where, name string, v any) *parseError {
	if isRaw(v) || rawNames[strings.ToLower(name)] {
		return refuse(ReasonRawContent, "%s: holds raw content", where)
	}
	return refuse(ReasonUnknown, "%s: a name the schema does not have", where)
}
