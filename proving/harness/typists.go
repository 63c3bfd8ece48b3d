package harness

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// typistSource is a program that is built from another commit's package of generated people: what a collector sends is a part of a
// commit, like the service that receives it.
//
//go:embed typist/main.go.txt
var typistSource string

// typistPackages are where commits have had generated people.
var typistPackages = []string{"internal/*/typist.go", "internal/*/*/typist.go"}

// writeTypist adds the program to a work tree and returns its package, relative to the tree.
func writeTypist(tree string) (string, error) {
	for _, pattern := range typistPackages {
		found, err := filepath.Glob(filepath.Join(tree, pattern))
		if err != nil || len(found) == 0 {
			continue
		}
		dir, err := filepath.Rel(tree, filepath.Dir(found[0]))
		if err != nil {
			return "", err
		}
		const name = "cmd/typist"
		if err := os.MkdirAll(filepath.Join(tree, name), 0o750); err != nil {
			return "", err
		}
		text := strings.Replace(typistSource, "PACKAGE", "github.com/countersign-dev/countersign/"+filepath.ToSlash(dir), 1)
		return "./" + name, os.WriteFile(filepath.Join(tree, name, "main.go"), []byte(text), 0o600)
	}
	return "", fmt.Errorf("the commit has no generated people (%s): name a later one", strings.Join(typistPackages, ", "))
}

// Typists are generated people of another commit, who type in a process of its build. Methods may be called concurrently.
type Typists struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// Typists starts the process. The caller closes it.
func (b Built) Typists(ctx context.Context) (*Typists, error) {
	t := &Typists{cmd: exec.CommandContext(ctx, b.typist)} // #nosec G204 -- built by this program
	t.cmd.Stderr = os.Stderr
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.out = bufio.NewReader(out)
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return t, t.cmd.Start()
}

// Frame returns the features of a person's next frame as JSON.
func (t *Typists) Frame(person uint64, keys int) ([]byte, error) {
	return t.ask(fmt.Sprintf("%d frame %d", person, keys))
}

// NewDay changes how a person types today.
func (t *Typists) NewDay(person uint64) error {
	_, err := t.ask(fmt.Sprintf("%d day", person))
	return err
}

// ask writes a line and reads the response: one at a time, because responses are in the order of the lines.
func (t *Typists) ask(line string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := fmt.Fprintln(t.in, line); err != nil {
		return nil, fmt.Errorf("the generated people of the other build: %w", err)
	}
	text, err := t.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the generated people of the other build: %w", err)
	}
	return text[:len(text)-1], nil
}

// Close ends the process.
func (t *Typists) Close() error {
	_ = t.in.Close()
	return t.cmd.Wait()
}
