// Command openapi builds openapi.json from the YAML files in src, in the folder that it runs in. The sources are OpenAPI 3.1 with a shorthand for parts that
// every operation repeats (see expand.go): error responses, headers, examples, security. It may not add rules of the contract
// that are not in src.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"go.yaml.in/yaml/v3"
)

func main() {
	out, err := build("src")
	if err == nil {
		err = os.WriteFile("openapi.json", out, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

// build reads the sources in dir and returns the document as indented JSON.
func build(dir string) ([]byte, error) {
	root, err := load(dir)
	if err != nil {
		return nil, err
	}
	doc, err := expand(root)
	if err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	if err := encode(&raw, doc); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// load merges the sources in the order of their names.
func load(dir string) (*object, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	root := newObject()
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var n yaml.Node
		if err := yaml.Unmarshal(src, &n); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		v, err := fromYAML(&n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		part, ok := v.(*object)
		if !ok {
			return nil, fmt.Errorf("%s: not an object", f)
		}
		if err := merge(root, part); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return root, nil
}

// merge adds the entries of part to root. Objects of the same name are merged; other duplicates are an error.
func merge(root, part *object) error {
	for _, k := range part.keys {
		have, ok := root.vals[k]
		if !ok {
			root.set(k, part.vals[k])
			continue
		}
		a, okA := have.(*object)
		b, okB := part.vals[k].(*object)
		if !okA || !okB {
			return fmt.Errorf("%q is defined twice", k)
		}
		if err := merge(a, b); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	return nil
}
