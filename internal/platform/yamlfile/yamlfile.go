// Package yamlfile says what is wrong with a file in YAML that a person writes, and in which line. It reads no files.
package yamlfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Fault is a reason why a file cannot be used.
type Fault struct {
	Line int // from 1; 0 for the whole file
	Why  string
}

// Error implements error.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.Why
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Why)
}

// At returns a fault in a line; 0 is the whole file.
func At(line int, format string, args ...any) *Fault {
	return &Fault{line, fmt.Sprintf(format, args...)}
}

// lineOf matches the place in a message of the YAML library, which has no other form of it, and goType the name of a type of Go in it.
var (
	lineOf = regexp.MustCompile(`line (\d+): (.*)`)
	goType = regexp.MustCompile(` in type \S+`)
)

// FaultOf converts an error of the YAML library, of which the first line is used.
func FaultOf(err error) *Fault {
	if found := lineOf.FindStringSubmatch(err.Error()); found != nil {
		line, _ := strconv.Atoi(found[1])
		why := goType.ReplaceAllString(found[2], "")
		return &Fault{line, strings.Replace(why, "not found", "is not a property here", 1)}
	}
	return &Fault{Why: strings.TrimPrefix(err.Error(), "yaml: ")}
}
