package mcpgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// maxNumber is the most characters of a number: a double needs no more than 25.
const maxNumber = 64

var errNoObject = errors.New("the arguments must be an object")

// unambiguous refuses arguments that two decoders can read differently: objects with two members of one name, or of names that differ in
// case only, which encoding/json does not distinguish, and numbers that a double cannot represent.
func unambiguous(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := value(d); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errNoObject
	}
	return nil
}

// value reads one value.
func value(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return errNoObject
	}
	switch v := token.(type) {
	case json.Number:
		if !isExact(string(v)) {
			return fmt.Errorf("the number %.24s is too large or too long to be exact: send it as a string", v)
		}
	case json.Delim:
		return members(d, v == '{')
	}
	return nil
}

// members reads an object or a list to its end.
func members(d *json.Decoder, named bool) error {
	seen := map[string]bool{}
	for d.More() {
		if named {
			token, err := d.Token()
			if err != nil {
				return errNoObject
			}
			name, _ := token.(string) // the decoder accepts nothing else
			if seen[fold(name)] {
				return fmt.Errorf("the arguments have the member %.60q twice, or in two spellings", name)
			}
			seen[fold(name)] = true
		}
		if err := value(d); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errNoObject
	}
	return nil
}

// fold returns one form of all names that are equal under Unicode simple case folding (strings.EqualFold).
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// shownByName refuses an argument whose name differs from one that is to be shown in case only: a handler may read it, and the person
// would not see it.
func shownByName(arguments map[string]any, show []string) error {
	for name := range arguments {
		if slices.Contains(show, name) {
			continue
		}
		for _, shown := range show {
			if fold(name) == fold(shown) {
				return fmt.Errorf("the argument %.60q must be spelled %q", name, shown)
			}
		}
	}
	return nil
}

// encode returns the canonical JSON of a tool's decoded input. It is an error if the input that is decoded from it is a different one:
// the type does not survive its own JSON, and what is shown would not be what runs.
func encode[In any](in In) ([]byte, error) {
	text, err := proof.Canonical(in)
	if err != nil {
		return nil, err
	}
	if string(text) == "null" {
		text = []byte("{}")
	}
	var decoded In
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, fmt.Errorf("mcpgate: %T cannot be decoded from its own JSON: %w", in, err)
	}
	again, err := proof.Canonical(decoded)
	if err != nil || !bytes.Equal(text, again) {
		return nil, fmt.Errorf("mcpgate: the JSON of %T does not decode to the same value", in)
	}
	return text, nil
}

// withArguments returns a copy of the request with other arguments.
func withArguments(req *mcp.CallToolRequest, text []byte) *mcp.CallToolRequest {
	copied, params := *req, *req.Params
	params.Arguments = text
	copied.Params = &params
	return &copied
}

func isExact(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > maxNumber {
		return false
	}
	if f == 0 {
		return !bytes.ContainsAny([]byte(mantissa(text)), "123456789") // what is only rounded to 0 has a huge exponent
	}
	sent, ok := new(big.Rat).SetString(text)
	if !ok {
		return false
	}
	kept, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && sent.Cmp(kept) == 0
}

// mantissa returns a number's digits before its exponent.
func mantissa(text string) string {
	if i := bytes.IndexAny([]byte(text), "eE"); i >= 0 {
		return text[:i]
	}
	return text
}
