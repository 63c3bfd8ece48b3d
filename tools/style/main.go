// Command style checks the rules of CONTRIBUTING.md that no linter checks: the words of the glossary, the number of parameters, the rooms of internal/ and the subjects of new commits. It prints one figure for each rule and
// exits with status 1 if a rule is broken (make lint).
//
//	go run ./tools/style                     every rule, on the whole repository
//	go run ./tools/style -in internal/lab    the same in one folder, with every finding
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// finding is one violation of a rule.
type finding struct {
	file string
	line int
	text string
}

// rule is one check over the files of the repository. figure summarises what it measured.
type rule struct {
	name  string
	check func(files []string) (figure string, found []finding, err error)
}

func main() {
	folder := flag.String("in", ".", "check only the files in this folder, and print every finding")
	base := flag.String("base", "origin/main", "check the subjects of the commits since this one; skipped if it is unknown")
	flag.Parse()
	files, err := tracked(*folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, "style:", err)
		os.Exit(2)
	}
	rules := []rule{
		{"glossary", glossary},
		{"parameters", parameters},
		{"citations", citations},
		{"rooms", rooms},
		{"commits", func([]string) (string, []finding, error) { return commits(*base) }},
	}
	status := 0
	for _, r := range rules {
		figure, found, err := r.check(files)
		if err != nil {
			fmt.Fprintf(os.Stderr, "style: %s: %v\n", r.name, err)
			os.Exit(2)
		}
		fmt.Printf("%-11s %s\n", r.name, figure)
		show(found, *folder == ".")
		if len(found) > 0 {
			status = 1
		}
	}
	os.Exit(status)
}

// mostShown bounds how many findings of a rule are printed for the whole repository, so that the figures stay visible.
const mostShown = 40

func show(found []finding, short bool) {
	for i, f := range found {
		if short && i == mostShown {
			fmt.Printf("  and %d more: go run ./tools/style -in FOLDER\n", len(found)-mostShown)
			return
		}
		fmt.Printf("  %s:%d: %s\n", f.file, f.line, f.text)
	}
}

// tracked lists the files of a folder that git knows or would add, relative to the repository's root.
func tracked(folder string) ([]string, error) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder).Output() //nolint:gosec // a folder, from the command line
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var files []string
	for _, f := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if _, err := os.Stat(f); err == nil {
			files = append(files, f)
		}
	}
	return files, nil
}
