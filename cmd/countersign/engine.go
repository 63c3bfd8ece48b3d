package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/local/gobuild"
)

// devstackFlags and devstackEnv are those of the Makefile's target, so that both use one build cache.
var (
	devstackFlags = []string{"-trimpath"}
	devstackEnv   = []string{"CGO_ENABLED=0"}
)

// builder returns a function that builds devstack if its source is newer; nil if there is no source, as beside a released binary.
func (m *machine) builder() func(ctx context.Context) error {
	if m.o.build != nil {
		return func(ctx context.Context) error { return m.o.build(ctx, m.startup.Report) }
	}
	if m.o.source == "" {
		return nil
	}
	return func(ctx context.Context) error {
		if gobuild.Current(m.o.source, m.o.devstack) {
			return nil
		}
		m.say("building the Temporal server in the background: decisions are served meanwhile, challenges and holds wait")
		err := gobuild.Build(ctx, gobuild.Spec{
			Dir: m.o.source, Package: ".", Out: m.o.devstack, Flags: devstackFlags, Env: devstackEnv, Background: true,
		}, func(p gobuild.Progress) {
			m.startup.Report(p.String())
			m.bar.Show("Temporal server: "+p.What(), int64(p.Done), int64(p.Total))
		})
		m.bar.Close()
		if _, missing := os.Stat(m.o.devstack); errors.Is(err, gobuild.ErrNoGo) && missing == nil {
			m.say("bin/devstack is older than its source, and is used: %v", err)
			return nil
		}
		return err
	}
}

// meanwhile calls work with a context that ends if a part of the machine fails, and then returns that failure.
func (m *machine) meanwhile(ctx context.Context, work func(ctx context.Context, s dev.State) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := make(chan error, 1)
	go func() {
		select {
		case <-ctx.Done():
		case err := <-m.fails:
			failed <- err
			cancel(err)
		}
	}()
	err := work(ctx, m.state)
	select {
	case broken := <-failed:
		return broken
	default:
		return err
	}
}

// announceEngine says when the workflow engine has started.
func (m *machine) announceEngine(ctx context.Context, started time.Time) {
	select {
	case <-ctx.Done():
	case <-m.startup.Started():
		m.say("the workflow engine runs after %.1f s: challenges, holds and enrollments are served", time.Since(started).Seconds())
	}
}

// enginePoll is the interval at which awaitEngine asks.
const enginePoll = 200 * time.Millisecond

// awaitEngine returns once the service reports on its operations port that Temporal has started. It passes the progress to show.
func awaitEngine(ctx context.Context, s dev.State, show func(step string)) error {
	for {
		step, err := engineStep(ctx, s.OpsURL+"/readyz")
		if err == nil && step == "" {
			return nil
		}
		show(step)
		select {
		case <-ctx.Done():
			return errors.Join(errInterrupted, err)
		case <-time.After(enginePoll):
		}
	}
}

// engineStep returns how far the start of Temporal is; empty if it is not being started.
func engineStep(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var body struct{ Starting map[string]string }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return "", fmt.Errorf("%s: %w", url, err)
	}
	return body.Starting["temporal"], nil
}
