package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// parentCheckEvery is the interval between checks, and so the longest that devstack outlives the watched process.
const parentCheckEvery = 500 * time.Millisecond

// watchParent calls ended once the process pid has ended. It polls, which works on every Unix. Linux could send a
// signal instead, but does so when the thread that started this process ends, and Go may end a thread at any time.
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

// alive reports whether pid still runs. For a direct parent it compares this process's parent id, which changes as
// soon as the parent dies, even if the parent is still a zombie or its pid has been reused.
func alive(pid int, isParent bool) bool {
	if isParent {
		return os.Getppid() == pid
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
