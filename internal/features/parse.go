package features

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

// object is a JSON object decoded without losing duplicates: decode refuses them.
type object map[string]any

// maxDepth is the depth of {"keystroke":{"cells":{"h:LP":[2,0.1]}}}.
const maxDepth = 4

func decode(raw []byte) (object, *parseError) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := decodeValue(dec, 1)
	if err != nil {
		return nil, err
	}
	if _, tail := dec.Token(); tail != io.EOF {
		return nil, refuse(ReasonMalformed, "features: data after the object")
	}
	tree, ok := v.(object)
	if !ok {
		return nil, refuse(ReasonMalformed, "features: must be an object")
	}
	return tree, nil
}

func decodeValue(dec *json.Decoder, depth int) (any, *parseError) {
	tok, err := dec.Token()
	if err != nil {
		return nil, refuse(ReasonMalformed, "features: not valid JSON")
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if depth > maxDepth {
		return nil, refuse(ReasonRawContent, "features: nested deeper than %d", maxDepth)
	}
	if delim == '[' {
		return decodeArray(dec)
	}
	return decodeObject(dec, depth)
}

func decodeObject(dec *json.Decoder, depth int) (any, *parseError) {
	out := object{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, refuse(ReasonMalformed, "features: not valid JSON")
		}
		name, ok := tok.(string)
		if !ok {
			return nil, refuse(ReasonMalformed, "features: not valid JSON")
		}
		if _, twice := out[name]; twice {
			return nil, refuse(ReasonMalformed, "features: a name occurs twice in one object")
		}
		v, perr := decodeValue(dec, depth+1)
		if perr != nil {
			return nil, perr
		}
		out[name] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, refuse(ReasonMalformed, "features: not valid JSON")
	}
	return out, nil
}

// decodeArray reads a pair of numbers, the only array a frame has.
func decodeArray(dec *json.Decoder) (any, *parseError) {
	var pair []json.Number
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, refuse(ReasonMalformed, "features: not valid JSON")
		}
		n, ok := tok.(json.Number)
		if !ok || len(pair) == 2 {
			return nil, refuse(ReasonRawContent, "features: an array must be [n, mean]")
		}
		pair = append(pair, n)
	}
	if _, err := dec.Token(); err != nil {
		return nil, refuse(ReasonMalformed, "features: not valid JSON")
	}
	return pair, nil
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
	_, isText := v.(string)
	if isText || rawNames[strings.ToLower(name)] {
		return refuse(ReasonRawContent, "%s: holds raw content", where)
	}
	return refuse(ReasonUnknown, "%s: a name the schema does not have", where)
}
