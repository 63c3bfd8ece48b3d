package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Run runs a command of the binary on the rig's database and returns its output, also with an error.
func (r *Rig) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, r.o.Binary, args...)
	cmd.Env = append(os.Environ(), r.env()...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("countersign %s: %w: %s", args[0], err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// Tenant is a sandbox environment with keys whose rate limits no load
// reaches.
type Tenant struct {
	ID          string
	Environment string
	Server      string // server key
	Admin       string // admin key
}

// environmentLine finds the tenant and its sandbox in the output of tenant create.
var environmentLine = regexp.MustCompile(`(?ms)^tenant (tnt_\S+)$.*^sandbox\s+(env_\S+)`)

// unlimited is the rate limit of the rig's keys, in requests an hour.
const unlimited = "1000000000"

// NewTenant creates a tenant. While a live environment exists, the service
// refuses webhooks to this machine, so the tenant's live environment is
// turned into a second sandbox.
func (r *Rig) NewTenant(ctx context.Context, name string) (Tenant, error) {
	host := strings.ToLower(rand.Text()) + ".example" // an RP ID belongs to one tenant
	create := []string{"tenant", "create", "--name", name, "--rp-id", host, "--origin", "https://" + host}
	out, err := r.Run(ctx, append(create, "--background", "prior")...)
	if err != nil && strings.Contains(err.Error(), "unknown flag: --background") { // a build from before there was a choice
		out, err = r.Run(ctx, create...)
	}
	if err != nil {
		return Tenant{}, err
	}
	found := environmentLine.FindStringSubmatch(out)
	if found == nil {
		return Tenant{}, fmt.Errorf("countersign tenant create printed no sandbox environment: %q", out)
	}
	t := Tenant{ID: found[1], Environment: found[2]}
	if err := r.ChangeEnvironments(ctx, "tenant_id = @tenant and kind = 'live'", "kind = 'sandbox'", map[string]any{"tenant": t.ID}); err != nil {
		return t, err
	}
	if t.Server, err = r.issue(ctx, t.Environment, "server"); err != nil {
		return t, err
	}
	t.Admin, err = r.issue(ctx, t.Environment, "admin")
	return t, err
}

// ChangeEnvironments changes columns of the environments that where selects, both with the @names of args, as a change that the audit log
// records.
func (r *Rig) ChangeEnvironments(ctx context.Context, where, set string, args map[string]any) error {
	st, _, err := r.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Write(ctx, func(q *pg.Q) error {
		_, err := pg.Change[models.Environment](ctx, q, where, set, args)
		return err
	})
}

// attest makes the rows that decide valid as they are stored, after some were changed by SQL.
func (r *Rig) attest(ctx context.Context) error {
	st, _, err := r.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Write(ctx, func(q *pg.Q) error { return pg.RenewMACs(ctx, q, pg.Renewal{Unverified: true}) })
}

// Open opens the service's database with its master keys, as the service does.
func (r *Rig) Open(ctx context.Context, tracer pgx.QueryTracer) (*pg.Store, *keyring.Keyring, error) {
	keys, err := keyring.Parse(r.MasterKey)
	if err != nil {
		return nil, nil, err
	}
	st, err := pg.Open(ctx, r.DatabaseURL(), pg.Options{MaxConns: 2, Keys: keys, Tracer: tracer, Record: events.RecordChanged})
	return st, keys, err
}

// DeleteTenant deletes a tenant as an operator would, once its keys are revoked.
func (r *Rig) DeleteTenant(ctx context.Context, t Tenant, name string) error {
	if err := r.exec(ctx, "update credentials set revoked_at = now() where tenant_id = '"+t.ID+"'"); err != nil {
		return err
	}
	if err := r.attest(ctx); err != nil {
		return err
	}
	_, err := r.Run(ctx, "tenant", "delete", t.ID, "--confirm-name", name)
	return err
}

// issue creates a key of a scope.
func (r *Rig) issue(ctx context.Context, environment, scope string) (string, error) {
	out, err := r.Run(ctx, "credential", "create", "--environment", environment, "--scope", scope, "--rate-limit", unlimited)
	if err != nil {
		return "", err
	}
	_, key, _ := strings.Cut(strings.TrimSpace(out), "  ")
	if key == "" {
		return "", fmt.Errorf("countersign credential create printed no key: %q", out)
	}
	return key, nil
}

// exec runs a statement on the service's database.
func (r *Rig) exec(ctx context.Context, query string) error {
	conn, err := pgx.Connect(ctx, r.DatabaseURL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, query)
	return err
}
