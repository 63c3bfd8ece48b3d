package localpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clearPidFile handles the postmaster.pid of an earlier run. A server that
// still runs on the folder lost its parent, since the caller holds the
// folder's lock, and is stopped. A file with the id of a dead process, or
// of a process that is not Postgres, is removed.
func clearPidFile(ctx context.Context, data string, say func(string, ...any)) error {
	path := filepath.Join(data, "postmaster.pid")
	text, err := os.ReadFile(path) // #nosec G304 -- a file of our own folder
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 || !isPostgres(pid) {
		say("postmaster.pid is left over from a server that is gone: removed")
		return remove(path)
	}
	say("a Postgres of an earlier run (process %d) still uses the folder: stopping it", pid)
	for _, step := range []struct {
		sig      syscall.Signal
		patience time.Duration
	}{{syscall.SIGINT, 20 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}} {
		_ = syscall.Kill(pid, step.sig)
		if gone(ctx, pid, step.patience) {
			return remove(path)
		}
	}
	return fmt.Errorf("a Postgres (process %d) uses %s and does not stop: end it, then start again", pid, data)
}

// remove deletes a file; a missing file is no error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// gone waits until the process has ended; it reports false after patience.
func gone(ctx context.Context, pid int, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for alive(pid) && isPostgres(pid) {
		if !pause(ctx) {
			return false
		}
	}
	return true
}

// alive reports whether a process with the id exists.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isPostgres reports whether the process is a Postgres server. The
// operating system may have given the id to a different process.
func isPostgres(pid int) bool {
	if !alive(pid) {
		return false
	}
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		return bytes.HasPrefix(name, []byte("postgres"))
	}
	out, err := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output() // #nosec G204 -- a number
	return err == nil && bytes.Contains(out, []byte("postgres"))
}

// pollEvery is the interval at which a condition is checked again.
const pollEvery = 20 * time.Millisecond

// pause waits for one interval; it reports false if ctx ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
