package features

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Status is the result of reading a features object.
type Status string

// Accepted frames are scored; neutral frames are well formed but contain nothing; rejected frames are not stored in any form.
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

// Result is the result of Read. Detail names the location and the rule; it never repeats submitted names or values.
type Result struct {
	Status  Status
	Frame   Frame
	Reasons []string
	Detail  string
}

// parseError is a refusal with its reason code.
type parseError struct{ reason, detail string }

// refuse returns a refusal. The arguments may not contain submitted names or values.
func refuse(reason, format string, args ...any) *parseError {
	return &parseError{reason, fmt.Sprintf(format, args...)}
}

// Read validates the features object of a submitted frame, as decoded from JSON: map[string]any, []any, float64 and so on. It
// accepts only the numbers of the schema and rejects text, arrays other than [n, mean], unknown names, numbers outside a cell's
// range, and exact counts. It never panics. Decode with strictjson first: a lenient decoder keeps only the last of duplicate names.
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

// rejected converts a refusal to the result of Read.
func rejected(err *parseError) Result {
	return Result{Status: Rejected, Reasons: []string{err.reason}, Detail: err.detail}
}

// maxDepth is the depth of {"keystroke":{"cells":{"h:LP":[2,0.1]}}}. Deeper values cannot be lists of numbers.
const maxDepth = 4

// deeper reports whether a value nests deeper than a limit, without visiting more levels than that.
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

// isRaw reports whether a value could contain content: a string, or an array other than [n, mean].
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

// rawNames are names under which raw content is commonly sent. They are unknown names in any case; listing them lets the detail
// explain that the frame is refused for privacy and not for a misspelling.
var rawNames = map[string]bool{
	"key": true, "keys": true, "code": true, "codes": true, "text": true, "char": true, "chars": true, "value": true,
	"content": true, "input": true, "password": true, "x": true, "y": true, "points": true, "coords": true,
	"coordinates": true, "path": true, "positions": true, "image": true, "images": true, "screenshot": true,
	"frame": true, "video": true, "camera": true, "html": true, "url": true, "title": true, "clipboard": true,
	"events": true, "raw": true, "stream": true, "target": true, "element": true, "selector": true,
}

// unknownName returns the error for a name that is not in the schema.
func unknownName(where, name string, v any) *parseError {
	if isRaw(v) || rawNames[strings.ToLower(name)] {
		return refuse(ReasonRawContent, "%s: holds raw content", where)
	}
	return refuse(ReasonUnknown, "%s: a name the schema does not have", where)
}
