package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// gotestsum gives the message of a panic to the test that printed last, and shows nothing of it if that test had passed: the tests that
// ran are listed as failed without a reason. The runner therefore shows what such a process printed at its end.

// Lines that are kept: the start of the runtime's message and the stack that follows, or the last lines if there is no such message.
const (
	stackLines = 80
	lastLines  = 20
)

// fatalPrefixes start the messages with which Go's runtime ends a process.
var fatalPrefixes = []string{"panic: ", "fatal error: ", "SIG"}

// testEvent is an event of go test -json (cmd/test2json).
type testEvent struct{ Action, Package, Test, Output string }

// ending holds the last lines that the process of a package printed, and its tests that have not ended.
type ending struct {
	running map[string]bool
	lines   []string
	fatal   bool // lines starts with the runtime's message
}

func (e *ending) add(line string) {
	if slices.ContainsFunc(fatalPrefixes, func(p string) bool { return strings.HasPrefix(line, p) }) {
		e.lines, e.fatal = nil, true
	}
	if e.fatal && len(e.lines) == stackLines {
		return
	}
	e.lines = append(e.lines, line)
	if !e.fatal && len(e.lines) > lastLines {
		e.lines = e.lines[1:]
	}
}

// see records an event. It returns true if the process ended before its tests.
func (e *ending) see(event testEvent) bool {
	switch event.Action {
	case "output":
		e.add(event.Output)
	case "run", "cont": // the process goes on: if there was such a message, a test printed it
		e.fatal = false
		e.running[event.Test] = true
	case "pass", "skip", "fail":
		delete(e.running, event.Test)
		return event.Action == "fail" && event.Test == "" && len(e.running) > 0
	}
	return false
}

// unfinished returns, for each package whose process ended before its tests, the last lines that it printed.
func unfinished(events io.Reader) (string, error) {
	var out strings.Builder
	packages := map[string]*ending{}
	for lines := bufio.NewReader(events); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return "", err
		}
		var event testEvent
		if json.Unmarshal(line, &event) != nil {
			continue // what go test prints beside its events
		}
		p := packages[event.Package]
		if p == nil {
			p = &ending{running: map[string]bool{}}
			packages[event.Package] = p
		}
		if p.see(event) {
			fmt.Fprintf(&out, "the process of %s ended before its tests. It printed:\n%s\n", event.Package, strings.Join(p.lines, ""))
		}
	}
}
