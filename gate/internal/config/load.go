package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Fault is one fault of the file.
type Fault struct {
	Line int
	Why  string
}

// Faults are all faults of a file, by line.
type Faults struct {
	File string
	List []Fault
}

// Error returns a line for each fault: file:line: why.
func (f *Faults) Error() string {
	lines := make([]string, len(f.List))
	for i, fault := range f.List {
		lines[i] = fmt.Sprintf("%s:%d: %s", f.File, fault.Line, fault.Why)
	}
	return strings.Join(lines, "\n")
}

// maxFile is the largest file in bytes.
const maxFile = 4 << 20

// Load reads and checks a file. An error is a *Faults, or says why the file cannot be read. Relative file names in it are relative to it.
func Load(file string) (*Config, error) { return load(file, gateSchema, (*document).build) }

// load reads a file by its schema, and builds what it describes.
func load[T any](file string, schema *jsonschema.Schema, build func(*document) *T) (*T, error) {
	text, err := os.ReadFile(file) // #nosec G304 -- the operator names it
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", file, maxFile)
	}
	c, err := parse(text, file, schema, build)
	var faults *Faults
	if errors.As(err, &faults) {
		faults.File = file
		slices.SortStableFunc(faults.List, func(a, b Fault) int { return a.Line - b.Line })
	}
	return c, err
}

// document is a decoded file with its lines.
type document struct {
	root   *yaml.Node
	file   string
	folder string // of the file
	faults []Fault
}

func parse[T any](text []byte, file string, schema *jsonschema.Schema, build func(*document) *T) (*T, error) {
	var top yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&top); err != nil {
		return nil, &Faults{List: []Fault{{lineOf(err), err.Error()}}}
	}
	d := &document{root: top.Content[0], folder: filepath.Dir(file), file: file}
	value := d.plain(d.root)
	if len(d.faults) == 0 {
		d.validate(schema, value)
	}
	if len(d.faults) > 0 {
		return nil, &Faults{List: d.faults}
	}
	c := build(d)
	if len(d.faults) > 0 {
		return nil, &Faults{List: d.faults}
	}
	return c, nil
}

// lineOf reads the line of an error of the YAML parser.
func lineOf(err error) int {
	_, rest, _ := strings.Cut(err.Error(), "line ")
	digits, _, _ := strings.Cut(rest, ":")
	line, _ := strconv.Atoi(digits)
	return max(line, 1)
}

func (d *document) fault(line int, format string, args ...any) {
	d.faults = append(d.faults, Fault{line, fmt.Sprintf(format, args...)})
}

// plain returns the JSON data of a node. Names that appear twice, and what JSON does not have, are faults.
func (d *document) plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i]
			if name.Kind != yaml.ScalarNode || name.Tag == "!!merge" {
				d.fault(name.Line, "a name must be a text")
				continue
			}
			if _, twice := out[name.Value]; twice {
				d.fault(name.Line, "%s is there twice", name.Value)
			}
			out[name.Value] = d.plain(n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = d.plain(item)
		}
		return out
	case yaml.ScalarNode:
		var value any
		if err := n.Decode(&value); err != nil {
			d.fault(n.Line, "%s cannot be read: %v", n.Value, err)
		}
		switch v := value.(type) {
		case int:
			return json.Number(strconv.Itoa(v))
		case float64:
			return v
		case string, bool, nil:
			return v
		}
		return n.Value // a date is a text here
	}
	d.fault(n.Line, "anchors and aliases are not supported: write the value out")
	return nil
}

// validate adds the faults that the schema finds, each at its line.
func (d *document) validate(schema *jsonschema.Schema, value any) {
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(value); !errors.As(err, &invalid) {
		return
	}
	d.leaves(invalid)
}

// leaves adds the innermost faults.
func (d *document) leaves(e *jsonschema.ValidationError) {
	if len(e.Causes) > 0 {
		if _, one := e.ErrorKind.(*kind.OneOf); !one {
			for _, cause := range e.Causes {
				d.leaves(cause)
			}
			return
		}
	}
	path := e.InstanceLocation
	why := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			d.fault(d.line(append(slices.Clone(path), name)), "%s is not known here", strings.Join(append(slices.Clone(path), name), "."))
		}
		return
	case *kind.FalseSchema:
		why = "is not allowed together with open: true"
	case *kind.OneOf:
		why = "needs exactly one of its alternatives, such as jwks or jwks_file, secret or certificates, command or url"
	}
	d.fault(d.line(path), "%s: %s", strings.Join(path, "."), why)
}

// line returns the line of a value, or of the innermost part of its path that exists.
func (d *document) line(path []string) int {
	n, line := d.root, d.root.Line
	for _, name := range path {
		next := child(n, name)
		if next == nil {
			return line
		}
		n, line = next.value, next.line
	}
	return line
}

// entry is a value in a mapping or a sequence, and the line that it begins on.
type entry struct {
	value *yaml.Node
	line  int
}

func child(n *yaml.Node, name string) *entry {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return &entry{n.Content[i+1], n.Content[i].Line}
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i < len(n.Content) {
			return &entry{n.Content[i], n.Content[i].Line}
		}
	}
	return nil
}
