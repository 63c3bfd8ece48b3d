package durable

import "sync"

// Startup follows the start of a workflow engine on this machine. A nil Startup is an engine that runs elsewhere and counts as
// started: whether it responds is known only by asking it.
type Startup struct {
	started chan struct{}
	finish  sync.Once

	mu   sync.Mutex
	step string
}

// NewStartup returns a Startup that has not finished.
func NewStartup() *Startup { return &Startup{started: make(chan struct{})} }

// Report sets the current step, such as "building, 62 %".
func (s *Startup) Report(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step = step
}

// Finish records that the engine takes requests.
func (s *Startup) Finish() { s.finish.Do(func() { close(s.started) }) }

// Started is closed once the engine takes requests; nil for a nil Startup.
func (s *Startup) Started() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.started
}

// Err returns a *StartingError until the engine takes requests, then nil.
func (s *Startup) Err() error {
	if s == nil {
		return nil
	}
	select {
	case <-s.started:
		return nil
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &StartingError{Step: s.step}
}

// StartingError reports that the workflow engine of this machine is being started.
type StartingError struct {
	Step string // such as "building, 62 %"; may be empty
}

// Error implements error. The text is shown on pages.
func (e *StartingError) Error() string {
	if e.Step == "" {
		return "the workflow engine is starting"
	}
	return "the workflow engine is starting: " + e.Step
}
