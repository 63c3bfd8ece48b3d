package features

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Status is what becomes of a submitted features object.
type Status string

// Accepted frames are scored; neutral ones are well formed and say nothing; rejected ones are not kept in any form.
const (
	Accepted Status = "accepted"
	Neutral  Status = "neutral"
	Rejected Status = "rejected"
)

// Reason codes of Read.
const (
	ReasonMalformed   = "features_malformed"
	ReasonSchema      = "features_schema_unsupported"
	ReasonRawContent  = "features_raw_content"
	ReasonUnknown     = "features_unknown_cell"
	ReasonImpossible  = "features_impossible_value"
	ReasonNotBinned   = "features_counts_not_binned"
	ReasonContradicts = "features_contradictory"
	ReasonEmpty       = "features_empty"
)

// Result is the outcome of Read. Detail says where and which rule; it never repeats submitted names or values.
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

// Read checks the features object of a submitted frame, as decoded from JSON: map[string]any, []any, float64 and so on.
// Anything but the schema's numbers is refused: text, arrays other than [n, mean], unknown names, numbers out of a cell's
// range, exact counts. It never panics. Decode strictly before: of a name that is there twice a lenient decoder shows the
// last value alone.
func Read(value any) Result {
	tree, ok := value.(map[string]any)
	if !ok {
		return rejected(refuse(ReasonMalformed, "features: must be an object"))
	}
	frame, err := readFrame(tree)
	switch {
	case err != nil && deeper(tree, maxDepth):
		return rejected(refuse(ReasonRawContent, "features: nested deeper than %d", maxDepth))
	case err != nil:
		return rejected(err)
	case len(frame.Blocks) == 0:
		return Result{Status: Neutral, Frame: frame, Reasons: []string{ReasonEmpty}, Detail: "features: no events"}
	default:
		return Result{Status: Accepted, Frame: frame}
	}
}

func rejected(err *parseError) Result {
	return Result{Status: Rejected, Reasons: []string{err.reason}, Detail: err.detail}
}

// maxDepth is the depth of {"keystroke":{"cells":{"h:LP":[2,0.1]}}}. What is deeper was no list of numbers.
const maxDepth = 4

func deeper(v any, than int) bool {
	below := func(item any) bool { return deeper(item, than-1) }
	switch v := v.(type) {
	case map[string]any:
		return than == 0 || slices.ContainsFunc(slices.Collect(maps.Values(v)), below)
	case []any:
		return than == 0 || slices.ContainsFunc(v, below)
	default:
		return false
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
