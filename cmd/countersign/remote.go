package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/local/dev"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// remote is an environment that a command reaches by the API: by the address and key of the environment variables, or by those of make run.
type remote struct {
	settings
	role                  keyRole
	key, dir, environment string
}

// keyRole is the scope of the key of a remote.
type keyRole string

const (
	adminKey  keyRole = "admin"
	serverKey keyRole = "server"
)

// patience bounds one request but for a stream: a simulation decides a thousand decisions again.
const patience = 30 * time.Second

func (r *remote) bind(cmd *cobra.Command, role keyRole, more ...setting) {
	r.role = role
	cmd.Flags().StringVar(&r.dir, "dir", ".data", "folder of make run, whose "+string(role)+" key is used if COUNTERSIGN_KEY is not set")
	cmd.Flags().StringVar(&r.environment, "environment", "sandbox", "environment of make run whose key is used: sandbox or live")
	bind(cmd, append([]setting{r.public(), {"", "COUNTERSIGN_KEY", "", "the " + string(role) + " key of the environment", text(&r.key)}}, more...)...)
}

func (r *remote) client() (*countersign.Client, error) {
	if err := r.defaults(); err != nil {
		return nil, err
	}
	api, err := countersign.New(r.baseURL, r.key, countersign.WithTimeout(patience))
	if err != nil {
		return nil, usage("%v", err)
	}
	return api, nil
}

// defaults takes the address and the key of make run if they are not set.
func (r *remote) defaults() error {
	if r.environment != "sandbox" && r.environment != "live" {
		return usage("--environment is %q: want sandbox or live", r.environment)
	}
	if r.key != "" && r.baseURL != "" {
		return nil
	}
	state, err := dev.ReadState(r.dir)
	keys := state.Environments.Sandbox
	if r.environment == "live" {
		keys = state.Environments.Live
	}
	if r.baseURL == "" {
		r.baseURL = state.BaseURL
	}
	if r.key == "" {
		r.key = map[keyRole]string{adminKey: keys.AdminKey, serverKey: keys.ServerKey}[r.role]
	}
	if err != nil || r.baseURL == "" || r.key == "" {
		return usage("COUNTERSIGN_BASE_URL and COUNTERSIGN_KEY are not both set, and %s has no service: set both, or run make run", r.dir)
	}
	return nil
}
