package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Bounds of the share of comments in each room, in percent of the lines that are not blank. A reader of the internals needs the
// reasons, and not the code again. Each room is measured by itself, so that a well-commented room cannot hide another.
const (
	minComments = 12
	maxComments = 18
)

// share counts the lines of a room.
type share struct{ lines, comments int }

func (s share) percent() float64 { return 100 * float64(s.comments) / float64(max(s.lines, 1)) }

// comments measures the share of comments in each room of internal/ and in workflows/, without tests.
func comments(files []string) (string, []finding, error) {
	total, byRoom := share{}, map[string]share{}
	for _, f := range files {
		if !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") || !underInternals(f) {
			continue
		}
		s, err := countComments(f)
		if err != nil {
			return "", nil, err
		}
		room := byRoom[roomOf(path.Dir(f))]
		byRoom[roomOf(path.Dir(f))] = share{room.lines + s.lines, room.comments + s.comments}
		total = share{total.lines + s.lines, total.comments + s.comments}
	}
	figure := fmt.Sprintf("%.1f %% of %d lines of internal and workflows are comments", total.percent(), total.lines)
	return figure, commentFindings(byRoom), nil
}

func commentFindings(byRoom map[string]share) []finding {
	var found []finding
	for _, room := range slices.Sorted(maps.Keys(byRoom)) {
		if p := byRoom[room].percent(); p < minComments || p > maxComments {
			found = append(found, finding{room, 0, fmt.Sprintf("%.1f %% of the lines are comments, want %d to %d %%", p, minComments, maxComments)})
		}
	}
	return found
}

func underInternals(file string) bool {
	return strings.HasPrefix(file, "internal/") || strings.HasPrefix(file, "workflows/")
}

func countComments(file string) (s share, err error) {
	in, err := os.Open(file) //nolint:gosec // a file that git lists
	if err != nil {
		return s, err
	}
	defer func() { _ = in.Close() }()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		s.lines++
		if strings.HasPrefix(line, "//") {
			s.comments++
		}
	}
	return s, lines.Err()
}
