// Command style checks the rules of CONTRIBUTING.md that no linter knows: the words of the glossary, the share of comments,
// the number of parameters, the rooms of internal/ and the subjects of new commits. It prints one figure for each rule and
// exits with status 1 if a rule is broken.
//
//	go run ./tools/style                     every rule, on the whole repository
//	go run ./tools/style -list internal/lab  each finding under a folder, with file and line
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// finding is one broken rule at one place.
type finding struct {
	file string
	line int
	text string
}

// rule is one check over the files of the repository. figure is what it measured, for people to compare.
type rule struct {
	name  string
	check func(files []string) (figure string, found []finding, err error)
}

func main() {
	list := flag.String("list", "", "print each finding in the files under this folder, and exit with status 0")
	base := flag.String("base", "origin/main", "check the subjects of the commits since this one; skipped if it is unknown")
	flag.Parse()
	files, err := tracked()
	if err != nil {
		fmt.Fprintln(os.Stderr, "style:", err)
		os.Exit(2)
	}
	rules := []rule{
		{"glossary", glossary},
		{"comments", comments},
		{"parameters", parameters},
		{"rooms", rooms},
		{"commits", func([]string) (string, []finding, error) { return commits(*base) }},
	}
	os.Exit(run(rules, files, *list))
}

func run(rules []rule, files []string, list string) int {
	status := 0
	for _, r := range rules {
		figure, found, err := r.check(files)
		if err != nil {
			fmt.Fprintf(os.Stderr, "style: %s: %v\n", r.name, err)
			return 2
		}
		if list != "" {
			printUnder(found, list)
			continue
		}
		fmt.Printf("%-11s %s\n", r.name, figure)
		printAll(found)
		if len(found) > 0 {
			status = 1
		}
	}
	return status
}

// shown bounds how many findings of a rule are printed, so that the figures stay in sight.
const shown = 40

func printAll(found []finding) {
	for i, f := range found {
		if i == shown {
			fmt.Printf("  and %d more: go run ./tools/style -list FOLDER\n", len(found)-shown)
			return
		}
		fmt.Printf("  %s:%d: %s\n", f.file, f.line, f.text)
	}
}

func printUnder(found []finding, folder string) {
	for _, f := range found {
		if folder == "." || f.file == folder || strings.HasPrefix(f.file, strings.TrimSuffix(folder, "/")+"/") {
			fmt.Printf("%s:%d: %s\n", f.file, f.line, f.text)
		}
	}
}

// tracked lists the files that git knows or would add, relative to the repository's root.
func tracked() ([]string, error) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
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
