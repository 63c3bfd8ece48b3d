package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/countersign-dev/countersign/"

// mostRooms is how many folders internal/ may have: a newcomer reads no more in one sitting.
const mostRooms = 12

// rooms checks that internal/ has few rooms and that each has a doc.go. The linter checks which room imports
// which (depguard in .golangci.yml).
func rooms(files []string) (string, []finding, error) {
	packages, arrows := map[string]bool{}, map[[2]string]bool{}
	for _, f := range files {
		if !strings.HasPrefix(f, "internal/") || !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") {
			continue
		}
		packages[path.Dir(f)] = true
		if err := addArrows(f, arrows); err != nil {
			return "", nil, err
		}
	}
	byRoom := map[string]bool{}
	for p := range packages {
		byRoom[roomOf(p)] = true
	}
	figure := fmt.Sprintf("internal: %d packages in %d rooms with %d arrows between them", len(packages), len(byRoom), len(arrows))
	return figure, roomFindings(byRoom), nil
}

func addArrows(file string, arrows map[[2]string]bool) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, i := range parsed.Imports {
		to, err := strconv.Unquote(i.Path.Value)
		if err != nil || !strings.HasPrefix(to, module+"internal/") {
			continue
		}
		from, into := roomOf(path.Dir(file)), roomOf(strings.TrimPrefix(to, module))
		if from != into {
			arrows[[2]string{from, into}] = true
		}
	}
	return nil
}

// roomOf returns the room of a package: internal/authz for internal/authz/hold. A package outside internal/ belongs to its
// top-level folder.
func roomOf(pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	if parts[0] != "internal" || len(parts) == 1 {
		return parts[0]
	}
	return path.Join(parts[:2]...)
}

func roomFindings(byRoom map[string]bool) []finding {
	var found []finding
	names := slices.Sorted(maps.Keys(byRoom))
	if len(names) > mostRooms {
		found = append(found, finding{"internal", 0, fmt.Sprintf("%d rooms, at most %d", len(names), mostRooms)})
	}
	for _, r := range names {
		if _, err := os.Stat(path.Join(r, "doc.go")); err != nil {
			found = append(found, finding{r, 0, "has no doc.go"})
		}
	}
	return found
}
