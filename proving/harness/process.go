package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one part of the rig. It can be killed, paused and started
// again at the same address.
type Process struct {
	Name string

	launch func(ctx context.Context) (handle, error)
	ready  func(ctx context.Context) error // nil: ready once launched

	mu  sync.Mutex
	now handle
}

// handle is a running process.
type handle struct {
	pid  int
	done <-chan struct{}
	stop func() error // in an orderly way
}

// startWithin bounds how long a part may take until it is ready, including
// recovery after a crash.
const startWithin = 90 * time.Second

// Start launches the process and waits until it is ready.
func (p *Process) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	h, err := p.launch(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	p.mu.Lock()
	p.now = h
	p.mu.Unlock()
	if p.ready == nil {
		return nil
	}
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-h.done:
			return fmt.Errorf("%s ended at once: its log says why", p.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s does not get ready: %w", p.Name, err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// Stop ends the process in an orderly way. It does nothing if the process
// is not running.
func (p *Process) Stop() error {
	h := p.handle()
	if h.stop == nil {
		return nil
	}
	p.signal(syscall.SIGCONT)
	return h.stop()
}

// Kill ends the process and its descendants at once with SIGKILL.
func (p *Process) Kill() {
	h := p.handle()
	p.signal(syscall.SIGKILL)
	if h.done != nil {
		<-h.done
	}
}

// Pause suspends the process and its descendants until Resume.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// Running reports whether the process was started and has not ended.
func (p *Process) Running() bool {
	h := p.handle()
	if h.done == nil {
		return false
	}
	select {
	case <-h.done:
		return false
	default:
		return true
	}
}

// handle returns the current process; the zero handle before the first
// start.
func (p *Process) handle() handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// signal sends a signal to the process and its descendants. Those that
// ended in between are skipped.
func (p *Process) signal(s syscall.Signal) {
	for _, pid := range p.PIDs() {
		_ = syscall.Kill(pid, s) // it may have ended in between
	}
}

// PIDs returns the ids of the process and its descendants; the sessions of
// a Postgres server are processes of their own.
func (p *Process) PIDs() []int {
	if !p.Running() {
		return nil
	}
	pid := p.handle().pid
	return append([]int{pid}, Descendants(pid)...)
}

// Descendants returns the ids of the processes that descend from a process.
func Descendants(pid int) []int {
	all, children := []int{pid}, childrenByParent()
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all[1:]
}

// childrenByParent reads the process table of the machine; empty without
// /proc.
func childrenByParent() map[int][]int {
	out := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f, err := statFields(pid); err == nil {
			if parent, err := strconv.Atoi(f[1]); err == nil {
				out[parent] = append(out[parent], pid)
			}
		}
	}
	return out
}

// statFields returns the fields of /proc/pid/stat after the command's name:
// state, parent and so on (proc(5)).
func statFields(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, ok := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return nil, errors.New("unknown form of /proc/pid/stat")
	}
	return fields, nil
}
