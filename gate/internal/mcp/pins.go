package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/countersign-dev/countersign/gate/internal/rpc"
	"github.com/countersign-dev/countersign/sdk/go/exact"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// Lock are the definitions of tools that an operator has accepted: digests by server and tool.
type Lock struct {
	Servers map[string]map[string]string `json:"servers"`
}

// ReadLock reads a lock file. One that is missing accepts nothing.
func ReadLock(file string) (*Lock, error) {
	text, err := os.ReadFile(file) // #nosec G304 -- beside the configuration
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Servers: map[string]map[string]string{}}, nil
	}
	if err != nil {
		return nil, err
	}
	var l Lock
	if err := errors.Join(exact.Check(text), json.Unmarshal(text, &l)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if l.Servers == nil {
		l.Servers = map[string]map[string]string{}
	}
	return &l, nil
}

// Write replaces the file as a whole.
func (l *Lock) Write(file string) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".lock-*")
	if err != nil {
		return err
	}
	_, err1 := temporary.Write(append(text, '\n'))
	err = errors.Join(err1, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

// Definition is a tool as its server describes it.
type Definition struct {
	Name, Digest string
	Text         json.RawMessage
	Headers      []mirror // arguments that clients repeat in headers
}

// define reads a definition. A definition that decoders can read in different ways is an error.
func define(text json.RawMessage) (*Definition, error) {
	if err := exact.Check(text); err != nil {
		return nil, err
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	name, _ := value["name"].(string)
	if name == "" {
		return nil, errors.New("it has no name")
	}
	digest, err := proof.ContextDigest(value)
	if err != nil {
		return nil, err
	}
	headers, err := mirrors(value["inputSchema"])
	if err != nil {
		return nil, err
	}
	return &Definition{Name: name, Digest: digest, Text: text, Headers: headers}, nil
}

// Definitions reads the tools of one page of a list. The faults are those of definitions that cannot be used.
func Definitions(result json.RawMessage) (list []*Definition, next string, faults []error) {
	members := rpc.Members(result)
	var tools []json.RawMessage
	if err := json.Unmarshal(members["tools"], &tools); err != nil {
		return nil, "", []error{fmt.Errorf("the list of tools cannot be read: %w", err)}
	}
	for _, text := range tools {
		d, err := define(text)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("the definition of a tool cannot be used: %w", err))
		case slices.ContainsFunc(list, func(other *Definition) bool { return other.Name == d.Name }):
			faults = append(faults, fmt.Errorf("the tool %.60q is in the list twice", d.Name))
		default:
			list = append(list, d)
		}
	}
	return list, rpc.String(members["nextCursor"]), faults
}

// difference says how the tools of a server differ from the accepted ones, by name: new, changed, or missing.
func difference(accepted map[string]string, now map[string]*Definition) map[string]string {
	out := map[string]string{}
	for name, d := range now {
		switch digest, known := accepted[name]; {
		case !known:
			out[name] = "new"
		case digest != d.Digest:
			out[name] = "changed"
		}
	}
	for name := range maps.Keys(accepted) {
		if now[name] == nil {
			out[name] = "missing"
		}
	}
	return out
}
