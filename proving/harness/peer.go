package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/countersign-dev/countersign/internal/local/dev"
)

// OpenFGA prepares an OpenFGA server on a database of the rig's Postgres, with further flags of openfga run. It is not started. Down
// of the rig stops it. Its logs have warnings and no requests.
func (r *Rig) OpenFGA(ctx context.Context, name, binary string, flags ...string) (*Service, error) {
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("%w: run make bin/openfga", err)
	}
	url, err := r.CreateDatabase(ctx, name)
	if err != nil {
		return nil, err
	}
	store := []string{"--datastore-engine", "postgres", "--datastore-uri", url}
	if out, err := exec.CommandContext(ctx, binary, append([]string{"migrate"}, store...)...).CombinedOutput(); err != nil { // #nosec G204 -- a developer's tool
		return nil, fmt.Errorf("openfga migrate: %w: %s", err, strings.TrimSpace(string(out)))
	}
	var at [3]string
	for i := range at {
		port, err := dev.PickPort(0)
		if err != nil {
			return nil, err
		}
		at[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	args := append([]string{"run"}, store...)
	args = append(args, "--http-addr", at[0], "--grpc-addr", at[1], "--metrics-addr", at[2], "--log-level", "warn")
	// Metrics are on by default; here on a free port, so that two servers can run, and the allocations can be read.
	s := &Service{URL: "http://" + at[0], OpsURL: "http://" + at[2]}
	// Service.checkReady asks an operations port for readiness, which OpenFGA has at its API.
	health := NewRawClient(s.URL, "", startWithin)
	s.Process = r.program(name, binary, append(args, flags...), nil, func(context.Context) error {
		return health.DoOK("GET", "/healthz", nil, nil)
	})
	r.peers = append(r.peers, s)
	return s, nil
}

// Gate prepares countersign-gate with arguments, at an address. It is not started.
func (r *Rig) Gate(binary string, args []string, address string, env []string) (*Service, error) {
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("%w: run make bin/countersign-gate", err)
	}
	s := &Service{URL: address}
	health := NewRawClient(address, "", startWithin)
	s.Process = r.program("gate", binary, args, env, func(context.Context) error {
		_, err := health.Do("GET", "/", nil) // any response
		return err
	})
	return s, nil
}
