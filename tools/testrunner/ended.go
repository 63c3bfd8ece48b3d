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

// Lines that are kept: the start of the runtime's message and the stacks that follow, with those of tests after them, or the last lines if there
// is no such message.
const (
	stackLines = 80
	testLines  = 200
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
	fatal   bool     // lines starts with the runtime's message
	stack   []string // the stack that is being read after it
	tests   []string // the stacks that name a file of tests
}

func (e *ending) add(line string) {
	if slices.ContainsFunc(fatalPrefixes, func(p string) bool { return strings.HasPrefix(line, p) }) {
		e.lines, e.fatal, e.stack, e.tests = nil, true, nil, nil
	}
	if e.fatal {
		e.addToStack(line)
	}
	if e.fatal && len(e.lines) == stackLines {
		return
	}
	e.lines = append(e.lines, line)
	if !e.fatal && len(e.lines) > lastLines {
		e.lines = e.lines[1:]
	}
}

// addToStack adds a line to its stack, which ends with an empty line. A process that hangs has hundreds of stacks; the reader looks for the test.
func (e *ending) addToStack(line string) {
	if strings.TrimSpace(line) != "" {
		e.stack = append(e.stack, line)
		return
	}
	if slices.ContainsFunc(e.stack, func(l string) bool { return strings.Contains(l, "_test.go:") }) && len(e.tests)+len(e.stack) <= testLines {
		e.tests = append(append(e.tests, e.stack...), line)
	}
	e.stack = nil
}

// text returns what is kept.
func (e *ending) text() string {
	e.addToStack("\n")
	return strings.Join(e.lines, "") + strings.Join(e.tests, "")
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
			fmt.Fprintf(&out, "the process of %s ended before its tests. It printed:\n%s\n", event.Package, p.text())
		}
	}
}
