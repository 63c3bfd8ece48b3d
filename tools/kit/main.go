// Command kit writes sdk/kit, the data that every SDK must pass, and third parties may use: proofs genuine and forged, webhooks, canonical
// JSON, requests and their bytes, responses of the service whole and damaged, and scripts of retries, pages, streams and key sets. Its output is deterministic.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// version is that of the contract which the data belong to.
const version = "1.1"

type object = map[string]any

func main() {
	for _, file := range []struct {
		name  string
		build func() (any, error)
	}{
		{"proofs.json", proofs}, {"webhooks.json", webhooks}, {"canonical.json", canonicalJSON}, {"responses.json", responses}, {"retries.json", retries},
		{"requests.json", requests}, {"pages.json", pages}, {"streams.json", streams}, {"keys.json", keySets},
		{"guards.json", guardList}, // reads the others
	} {
		if err := write(filepath.Join("../../sdk/kit", file.name), file.build); err != nil {
			fmt.Fprintln(os.Stderr, "kit:", err)
			os.Exit(1)
		}
	}
}

func write(path string, build func() (any, error)) error {
	v, err := build()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
