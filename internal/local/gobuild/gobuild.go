// Package gobuild builds a program from its source folder with the go command and reports how far the build is. It downloads and
// compiles only what the go command would, and never starts what it has built.
package gobuild

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNoGo reports that the machine has no go command. Its text explains what to do.
var ErrNoGo = errors.New("the go command was not found: install Go (https://go.dev/dl) and put it on PATH")

// Spec names the program and its source.
type Spec struct {
	Dir     string // folder of the module
	Package string // relative to Dir, such as "." or "./cmd/x"
	Out     string // path of the program; replaced once the build has succeeded
	Flags   []string
	Env     []string // in addition to this process's
	// Background gives the build a lower priority than this process.
	Background bool
}

// The steps of a build.
const (
	Waiting     = "waiting for a build that is under way"
	Listing     = "listing packages"
	Downloading = "downloading modules"
	Compiling   = "compiling"
	Linking     = "linking"
)

// Progress is how far a build is.
type Progress struct {
	Step  string
	Name  string // of the package or module; empty if the step has none
	Done  int    // packages or modules so far
	Total int    // packages to compile and the link; 0 if it is not known yet
}

// String describes the progress in a few words, such as "building, 62 %".
func (p Progress) String() string {
	switch {
	case p.Total > 0:
		return fmt.Sprintf("building, %d %%", 100*p.Done/p.Total)
	case p.Step == Downloading:
		return fmt.Sprintf("building, %d modules downloaded", p.Done)
	default:
		return "building, " + p.Step
	}
}

// What names the current step and its package or module.
func (p Progress) What() string {
	if p.Name == "" {
		return p.Step
	}
	return p.Step + " " + p.Name
}

// background is the niceness of a build in the background.
const background = 10

// Build builds the program and calls report, which must not be nil and is not called concurrently, at each step. Two builds of one
// program, in any processes, run one after the other. If ctx ends, the build is killed and the program is unchanged.
func Build(ctx context.Context, s Spec, report func(Progress)) error {
	if _, err := exec.LookPath("go"); err != nil {
		return ErrNoGo
	}
	out, err := filepath.Abs(s.Out)
	if err != nil {
		return err
	}
	s.Out = out
	if err := os.MkdirAll(filepath.Dir(out), 0o750); err != nil {
		return err
	}
	unlock, err := lock(ctx, out, report)
	if err != nil {
		return err
	}
	defer unlock()
	report(Progress{Step: Listing})
	total, err := s.stale(ctx, report)
	if err != nil {
		return err
	}
	return s.build(ctx, total, report)
}

// lock takes the lock of the program, which the kernel releases if this process dies. Without it two builds at a time, such as those of
// make run and make test, would compile every package twice on the same cores.
func lock(ctx context.Context, out string, report func(Progress)) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for waited := false; ; waited = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, f.Close())
		}
		if !waited {
			report(Progress{Step: Waiting})
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// stale counts the packages that are not in the build cache, and downloads missing modules. Counting all packages instead would show
// a build of one changed file as done in its last second.
func (s Spec) stale(ctx context.Context, report func(Progress)) (int, error) {
	downloaded := 0
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}x{{end}}"}, append(s.Flags, s.Package)...)
	out, err := s.run(ctx, args, func(line string) bool {
		name, ok := strings.CutPrefix(line, "go: downloading ")
		if ok {
			downloaded++
			report(Progress{Step: Downloading, Name: name, Done: downloaded})
		}
		return ok
	})
	return strings.Count(out, "x"), err
}

// build compiles and links into a file beside the program, and renames it: a running program is not disturbed.
func (s Spec) build(ctx context.Context, total int, report func(Progress)) error {
	fresh := s.Out + ".new-" + strconv.Itoa(os.Getpid())
	defer func() { _ = os.Remove(fresh) }()
	begun := 0
	at := func(step, name string, done int) {
		// The link counts as one package, which is done when the build is.
		report(Progress{Step: step, Name: name, Done: min(done, total), Total: total + 1})
	}
	at(Compiling, "", 0)
	args := append([]string{"build", "-v", "-o", fresh}, append(s.Flags, s.Package)...)
	_, err := s.run(ctx, args, func(line string) bool {
		// Packages compile in parallel, so the one named last is not always the one that takes longest.
		// With -v the go command prints the import path of each package as it begins to compile it.
		if line == "" || strings.ContainsAny(line, " :#") {
			return false
		}
		begun++
		if begun == total {
			at(Linking, line, total)
		} else {
			at(Compiling, line, begun-1)
		}
		return true
	})
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, s.Out); err != nil {
		return err
	}
	report(Progress{Step: Linking, Done: total + 1, Total: total + 1})
	return nil
}

// complaints bounds how much of the go command's output an error contains, in bytes.
const complaints = 4 << 10

// run runs the go command in a process group of its own, passes each line of its standard error to progress, and returns its
// standard output. The error contains the lines that were no progress.
func (s Spec) run(ctx context.Context, args []string, progress func(line string) bool) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...) // #nosec G204 -- the go command with the flags of the caller's code
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	// Ctrl-C reaches this process only, which kills the go command with its compilers.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	if s.Background {
		_ = syscall.Setpriority(syscall.PRIO_PGRP, cmd.Process.Pid, background) // a build at the usual priority is a build
	}
	said := complain(stderr, progress)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], s.Dir, err, said)
	}
	return out.String(), nil
}

// complain passes the lines to progress and returns the first of those that were none.
func complain(r io.Reader, progress func(line string) bool) string {
	var said strings.Builder
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !progress(lines.Text()) && said.Len() < complaints {
			said.WriteString(lines.Text() + "\n")
		}
	}
	_, _ = io.Copy(io.Discard, r) // a line that is too long must not block the go command
	return strings.TrimSpace(said.String())
}

// Current reports whether the program exists and no file of its source folder is newer: Go files, go.mod and go.sum, also of the modules
// inside of it.
func Current(dir, out string) bool {
	built, err := os.Stat(out)
	if err != nil {
		return false
	}
	current := true
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" && entry.Name() != "go.mod" && entry.Name() != "go.sum" {
			return err
		}
		info, err := entry.Info()
		current = current && err == nil && !info.ModTime().After(built.ModTime())
		return err
	})
	return current && err == nil
}
