package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/local/dev"
)

// banner prints the addresses, the keys and a first request.
func (m *machine) banner() {
	s := m.state
	sandbox, live := s.Environments.Sandbox, s.Environments.Live
	_, _ = fmt.Fprintf(m.bar, `
Countersign is up. Type for two minutes and see how it decides: %s/try

  API           %s          to read and try: %s/docs
  operations    %s/metrics, /livez, /readyz
  Temporal      %s        UI: %s
  console       %s
  keys          %s (rate limits raised to %d requests an hour)

  sandbox       %s
    server      %s
    admin       %s
    publishable %s
  live          %s
    server      %s
    admin       %s
    publishable %s

Try:

  curl -sS %s/api/v1/credential -H 'Authorization: Bearer %s'

make demo, in a second terminal, demonstrates decisions on recorded people. Ctrl-C stops everything; the data stays in %s.
`, s.BaseURL, s.BaseURL, s.BaseURL, s.OpsURL, s.TemporalAddress, orNone(s.TemporalUI)+m.startingNote(), m.consoleLine(), dev.StatePath(m.o.dir), devRateLimit,
		sandbox.Environment, sandbox.ServerKey, sandbox.AdminKey, sandbox.PublishableKey,
		live.Environment, live.ServerKey, live.AdminKey, live.PublishableKey,
		s.BaseURL, sandbox.ServerKey, m.o.dir)
}

// startingNote says what waits while Temporal starts.
func (m *machine) startingNote() string {
	if m.startup.Err() == nil {
		return ""
	}
	return " (starting; decisions are served, challenges and holds wait)"
}

// consoleLine is the address of the console: an invitation until the developer has registered a passkey.
func (m *machine) consoleLine() string {
	if m.invitation == "" {
		return m.state.BaseURL + "/console"
	}
	return m.invitation + " (once, within a day; make run prints another until you have joined)"
}

func orNone(s string) string {
	if s == "" {
		return "not started here"
	}
	return s
}

// probe sends one authenticated request to the API.
func probe(ctx context.Context, url, key string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s returned status %d", url, resp.StatusCode)
	}
	return nil
}
