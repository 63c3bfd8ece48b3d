package dev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Lock keeps a second process out of the folder. The kernel releases it
// when the process ends, also after a crash.
type Lock struct{ file *os.File }

// Acquire creates the folder if it is missing and locks it. The error names
// the process that holds the lock.
func Acquire(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- the user that Postgres runs as passes through
		return nil, fmt.Errorf("the folder %s cannot be made: %w", dir, err)
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the folder %s cannot be written: %w", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = f.Close() }()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
		}
		holder, _ := os.ReadFile(path)
		return nil, fmt.Errorf("countersign already runs on %s (process %s): stop it first, or name another folder with --dir",
			dir, strings.TrimSpace(string(holder)))
	}
	l := &Lock{file: f}
	return l, l.sign()
}

// sign writes the process id for the error message of the next process.
func (l *Lock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(fmt.Sprintln(os.Getpid())), 0)
	return err
}

// Release unlocks the folder, and the next run may begin. To close the file
// does not suffice: the lock belongs to the open file, and a process that is
// being started has a descriptor of it until its program runs.
func (l *Lock) Release() {
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	_ = l.file.Close()
}
