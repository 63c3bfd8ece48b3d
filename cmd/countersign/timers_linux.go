package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// usualSlack is the timer slack that Linux gives a process, unless the service manager set a different value.
	usualSlack = 50 * time.Microsecond
	// slack is how much later than asked for a sleeping thread of the API or of the worker may wake up. The shortest timeout of the service
	// is many times longer.
	slack = 5 * time.Millisecond
)

// relaxTimers gives all threads of the process the timer slack. After each burst of work a thread of Go's runtime sleeps for 20 µs at a time,
// to see whether the others are blocked in system calls (golang/go#18236): with the usual slack, it wakes up some 3,000 times a second, and
// that took an API under load a fifth of its CPU time (docs/performance.md).
//
// That thread began before main, and a process may change the slack of its calling thread only. So the process executes its binary again: the
// threads that are then made inherit the slack. A slack that is not the usual one is kept, which also ends the repetition. After an error the
// process goes on as it was.
func relaxTimers() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || time.Duration(now) != usualSlack {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
		return err
	}
	binary, err := os.Executable()
	if err == nil {
		err = unix.Exec(binary, os.Args, os.Environ()) // #nosec G204 -- itself
	}
	return fmt.Errorf("set the timer slack: %w", err)
}
