package mcpgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/sdk/go/exact"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

var errNoObject = errors.New("the arguments must be an object")

// unambiguous refuses arguments that two decoders can read differently.
func unambiguous(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	err := exact.Check(raw)
	if errors.Is(err, exact.ErrSyntax) {
		return errNoObject
	}
	if err != nil {
		return fmt.Errorf("the arguments are ambiguous: %w", err)
	}
	return nil
}

// shownByName refuses an argument whose name differs from one that is to be shown in case only: a handler may read it, and the person
// would not see it.
func shownByName(arguments map[string]any, show []string) error {
	for name := range arguments {
		if slices.Contains(show, name) {
			continue
		}
		for _, shown := range show {
			if exact.Fold(name) == exact.Fold(shown) {
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
