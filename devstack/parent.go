package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// parentCheckEvery is how long a devstack may outlive the process it watches, in the worst case.
const parentCheckEvery = 500 * time.Millisecond

// watchParent calls ended once the process pid is gone. It asks instead of being told (Linux could signal, but only
// for the end of the thread that started the process, which Go ends as it likes), so it works on every Unix.
func watchParent(ctx context.Context, pid int, ended func()) {
	isParent := os.Getppid() == pid
	for {
		if !alive(pid, isParent) {
			ended()
			return
		}
		if pause(ctx, parentCheckEvery) != nil {
			return
		}
	}
}

// alive reports whether pid still runs. A direct parent is recognised by its child's parent id, which changes the
// moment it dies, even while it is a zombie or its number has been given to another process.
func alive(pid int, isParent bool) bool {
	if isParent {
		return os.Getppid() == pid
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
