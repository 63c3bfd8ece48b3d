// Package subprocess runs programs that must not outlive this process: the private Postgres and Temporal of a development
// machine. A child is in a process group of its own, so that Ctrl-C reaches the parent alone, which then stops its
// children in order. The package does not depend on what it runs and prints nothing.
package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// User is the user that a child runs as.
type User struct {
	Name     string
	UID, GID uint32
}

// Spec configures a child.
type Spec struct {
	Path   string
	Args   []string
	Env    []string // nil: the parent's
	Dir    string   // empty: the parent's
	Output io.Writer
	User   *User // nil: the parent's
	// Orphaned is sent to the child when its parent dies, even by SIGKILL; Linux only.
	Orphaned syscall.Signal
}

// Process is a running child.
type Process struct {
	cmd  *exec.Cmd
	name string
	done chan struct{}
	err  error
	once sync.Once
}

// Start starts the program. On Linux the kernel signals the child when the
// thread that started it ends, not the process, so one thread is reserved
// for as long as the child lives.
func Start(s Spec) (*Process, error) {
	cmd := command(s)
	p := &Process{cmd: cmd, name: filepath.Base(s.Path), done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", s.Path, err)
	}
	return p, nil
}

// Run runs the program to its end, or kills it when ctx ends. The error has
// the last line of its output.
func Run(ctx context.Context, s Spec) error {
	cmd := command(s)
	var out strings.Builder
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = &out, &out
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s cannot be started: %w", s.Path, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s failed: %w: %s", filepath.Base(s.Path), err, lastLine(out.String()))
	}
	return nil
}

// command prepares the program in a process group of its own.
func command(s Spec) *exec.Cmd {
	cmd := exec.Command(s.Path, s.Args...) // #nosec G204 -- this package runs programs by name
	cmd.Env, cmd.Dir = s.Env, s.Dir
	cmd.Stdout, cmd.Stderr = s.Output, s.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.User != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.User.UID, Gid: s.User.GID}
	}
	dieWithParent(cmd.SysProcAttr, s.Orphaned)
	return cmd
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is the error that the child ended with; nil while it runs and after a
// clean end.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Stop sends sig to the child and kills its process group after patience.
// It returns nil if the child has ended by itself.
func (p *Process) Stop(sig syscall.Signal, patience time.Duration) error {
	var err error
	p.once.Do(func() { err = p.stop(sig, patience) })
	<-p.done
	return err
}

func (p *Process) stop(sig syscall.Signal, patience time.Duration) error {
	_ = p.cmd.Process.Signal(sig)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return errors.New(p.name + " did not stop in time and was killed")
}
