package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// A reader of the internals wants the reasons, and not the code again: between leastComments and mostComments percent of
// the lines that are not blank.
const (
	leastComments = 12
	mostComments  = 18
)

// comments measures the share of comments in internal/ and workflows/, tests left out.
func comments(files []string) (string, []finding, error) {
	all, noted := 0, 0
	for _, f := range files {
		if !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") || !underInternals(f) {
			continue
		}
		a, n, err := countComments(f)
		if err != nil {
			return "", nil, err
		}
		all, noted = all+a, noted+n
	}
	share := 100 * float64(noted) / float64(max(all, 1))
	figure := fmt.Sprintf("%.1f %% of %d lines of internal and workflows are comments", share, all)
	if all == 0 {
		return figure, nil, nil
	}
	if share < leastComments || share > mostComments {
		return figure, []finding{{"internal", 0, fmt.Sprintf("want %d to %d %%", leastComments, mostComments)}}, nil
	}
	return figure, nil, nil
}

func underInternals(file string) bool {
	return strings.HasPrefix(file, "internal/") || strings.HasPrefix(file, "workflows/")
}

func countComments(file string) (all, noted int, err error) {
	in, err := os.Open(file) //nolint:gosec // a file that git lists
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = in.Close() }()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		all++
		if strings.HasPrefix(line, "//") {
			noted++
		}
	}
	return all, noted, lines.Err()
}
