// Command gosdk generates Go from the contract. For sdk/go: the types of its schemas, a method per operation, the codes of the two
// catalogues, and the payloads of events. For api/wire: the types as the service reads and writes them. It may read only the contract and
// the catalogues, so that its output is reproducible.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := filepath.Join("..", "..")
	if len(os.Args) > 1 {
		out = os.Args[1]
	}
	if err := write(out); err != nil {
		fmt.Fprintln(os.Stderr, "gosdk:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
