package main

import (
	"cmp"
	"context"
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
	cmd.Flags().StringVar(&r.dir, "dir", localDir, "folder of make run, whose "+string(role)+" key is used if COUNTERSIGN_KEY is not set")
	cmd.Flags().StringVar(&r.environment, "environment", "", "the environment: its id (env_...), sandbox or live; with COUNTERSIGN_KEY the command stops unless the key is of it, otherwise sandbox is the default")
	bind(cmd, append([]setting{r.public(), {"", "COUNTERSIGN_KEY", "", "the " + string(role) + " key of the environment", text(&r.key)}}, more...)...)
}

func (r *remote) client(ctx context.Context) (*countersign.Client, error) {
	given := r.key != ""
	if err := r.defaults(); err != nil {
		return nil, err
	}
	api, err := countersign.New(r.baseURL, r.key, countersign.WithTimeout(patience))
	if err != nil {
		return nil, usage("%v", err)
	}
	if given && r.environment != "" {
		return api, r.confirm(ctx, api)
	}
	return api, nil
}

// confirm returns an error unless the key is of the environment that --environment names.
func (r *remote) confirm(ctx context.Context, api *countersign.Client) error {
	of, err := api.GetCredential(ctx)
	if err != nil {
		return err
	}
	if r.environment != of.Environment && r.environment != of.EnvironmentKind {
		return usage("--environment is %q, but COUNTERSIGN_KEY is a key of %s (%s)", r.environment, of.Environment, of.EnvironmentKind)
	}
	return nil
}

// defaults takes the address and the key of make run if they are not set.
func (r *remote) defaults() error {
	if r.key != "" && r.baseURL != "" {
		return nil
	}
	state, err := dev.ReadState(r.dir)
	if err != nil {
		return err
	}
	r.baseURL = cmp.Or(r.baseURL, state.BaseURL)
	if r.key == "" {
		keys, err := state.Environments.Named(r.environment)
		if err != nil {
			return usage("--environment is %q: %v", r.environment, err)
		}
		r.key = map[keyRole]string{adminKey: keys.AdminKey, serverKey: keys.ServerKey}[r.role]
	}
	if r.baseURL == "" || r.key == "" {
		return usage("COUNTERSIGN_BASE_URL and COUNTERSIGN_KEY are not both set, and %s has no service: set both, or run make run", r.dir)
	}
	return nil
}
