package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"unicode/utf8"
)

// mostSubject is how many characters a commit's subject may have; git and its hosts cut what is longer.
const mostSubject = 72

var subjectPattern = regexp.MustCompile(`^[a-z][a-z0-9/,. _-]*: \S`)

// goodSubject reports whether a subject names an area and is short enough. Whether its summary is an imperative is for reviewers.
func goodSubject(subject string) bool {
	return utf8.RuneCountInString(subject) <= mostSubject && subjectPattern.MatchString(subject)
}

// commits checks the subjects of the commits since base: "area: imperative summary".
func commits(base string) (string, []finding, error) {
	if exec.Command("git", "rev-parse", "--verify", "--quiet", base+"^{commit}").Run() != nil { //nolint:gosec // the name of a commit, from the command line
		return "not checked: there is no " + base, nil, nil //nolint:nilerr // a clone without the base cannot check
	}
	out, err := exec.Command("git", "log", "--no-merges", "--format=%h %s", base+"..HEAD").Output() //nolint:gosec // the name of a commit, from the command line
	if err != nil {
		return "", nil, fmt.Errorf("git log: %w", err)
	}
	var found []finding
	count := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		hash, subject, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		count++
		if !goodSubject(subject) {
			found = append(found, finding{hash, 0, fmt.Sprintf("want \"area: imperative summary\" of at most %d characters, found %q", mostSubject, subject)})
		}
	}
	return fmt.Sprintf("%d subjects since %s", count, base), found, nil
}
