// Command guards shows that the wire kit needs each of its guards: it copies an SDK, removes a guard from the copy's source, and runs the
// kit's tests, of which a case of that guard must fail. sdk/kit/guards.json lists the guards; a table of each SDK has the edits that remove
// them.
//
//	go run ./tools/guards [-only go,js,python,java] [-guard proofs/alg] [-v]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// within bounds one run of the tests: without some guards a client waits for an hour.
const within = 2 * time.Minute

func main() {
	only := flag.String("only", "", "`languages`, such as go,java; default all")
	guard := flag.String("guard", "", "one `guard`, such as proofs/alg; default all")
	verbose := flag.Bool("v", false, "print each guard")
	flag.Parse()
	if err := run(*only, *guard, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

// guard is a check of the kit's list, and the cases of a file that fail without it.
type guard struct {
	File, Name string
	Cases      []string
}

func (g guard) String() string { return g.File + "/" + g.Name }

// declared reads the kit's list of guards.
func declared(root string) ([]guard, error) {
	var list struct{ Guards []guard }
	return list.Guards, read(filepath.Join(root, "sdk", "kit", "guards.json"), &list)
}

func run(only, one string, verbose bool) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	guards, err := declared(root)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	failures := make([]error, len(languages))
	for i, l := range languages {
		if only != "" && !slices.Contains(strings.Split(only, ","), l.name) {
			continue
		}
		running.Go(func() {
			kept := slices.DeleteFunc(slices.Clone(guards), func(g guard) bool { return one != "" && g.String() != one })
			failures[i] = l.check(root, kept, verbose)
		})
	}
	running.Wait()
	return errors.Join(failures...)
}

// check removes each guard from the SDK in turn.
func (l language) check(root string, guards []guard, verbose bool) (err error) {
	if missing := l.missing(root); missing != "" {
		fmt.Printf("%s: %s: skipped\n", l.name, missing)
		return nil
	}
	edits, err := l.table(root, guards)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "countersign-guards")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	c, err := l.copied(root, temporary)
	if err != nil {
		return err
	}
	removed, inherent := 0, 0
	whole := map[string]bool{}
	var failures []error
	for _, g := range guards {
		e := edits[g.key()]
		if e.inherent != "" {
			inherent++
			continue
		}
		if !whole[g.File] {
			if err := c.passes(g.File); err != nil {
				return fmt.Errorf("%s: with every guard: %w", l.name, err)
			}
			whole[g.File] = true
		}
		removed++
		err := c.without(g, e)
		if verbose {
			fmt.Printf("%s %s: %v\n", l.name, g, err == nil)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: without %s: %w", l.name, g, err))
		}
	}
	fmt.Printf("%s: %d guards removed, %d are inherent, %d failures\n", l.name, removed, inherent, len(failures))
	return errors.Join(failures...)
}

// without removes a guard, expects a case of it to fail, and puts the guard back.
func (c copied) without(g guard, e edit) (err error) {
	before := map[string][]byte{}
	defer func() {
		for file, text := range before {
			err = errors.Join(err, os.WriteFile(file, text, 0o600))
		}
	}()
	for _, r := range e.replacements {
		file := filepath.Join(c.folder, c.sources, r.file)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, again := before[file]; !again {
			before[file] = text
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), r.old, r.new, 1)), 0o600); err != nil {
			return err
		}
	}
	if out, err := c.command(c.compile(c, g.File)); err != nil {
		return fmt.Errorf("it does not compile: %w\n%s", err, tail(out))
	}
	out, err := c.command(c.test(c, g.File))
	var exit *exec.ExitError
	switch {
	case err == nil:
		return errors.New("the kit's tests pass")
	case !errors.As(err, &exit):
		return err
	}
	found := letters(out)
	if slices.ContainsFunc(g.Cases, func(name string) bool { return strings.Contains(found, letters(name)) }) {
		return nil
	}
	return fmt.Errorf("no case of the guard fails:\n%s", tail(out))
}

// passes runs the tests of a file with every guard.
func (c copied) passes(file string) error {
	for _, words := range [][]string{c.compile(c, file), c.test(c, file)} {
		if out, err := c.command(words); err != nil {
			return fmt.Errorf("%w\n%s", err, tail(out))
		}
	}
	return nil
}

// command runs a command in the copy. Its first words may set the environment; "cd=folder" begins in a folder below.
func (c copied) command(words []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	folder := c.folder
	var set []string
	for strings.Contains(words[0], "=") {
		if at, cd := strings.CutPrefix(words[0], "cd="); cd {
			folder = filepath.Join(folder, at)
		} else {
			set = append(set, words[0])
		}
		words = words[1:]
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) // #nosec G204 -- of this file and the tables
	cmd.Dir, cmd.Env, cmd.WaitDelay = folder, append(os.Environ(), set...), time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return string(out), fmt.Errorf("it did not end within %s", within)
	}
	return string(out), err
}

// letters leaves letters and digits, because test runners spell the names of cases in ways of their own.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

func tail(text string) string {
	const most = 1500
	return text[max(0, len(text)-most):]
}

func read(path string, out any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
