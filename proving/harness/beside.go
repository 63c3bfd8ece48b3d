package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// Beside prepares a second build of the service on the servers of this rig, with a database, a master key and a Temporal namespace
// of its own, all named name; Options.Namespaces contains it if there is a Temporal server. API and worker are not started. Down of
// this rig stops them.
func (r *Rig) Beside(ctx context.Context, name, binary string) (*Rig, error) {
	url, err := r.CreateDatabase(ctx, name)
	if err != nil {
		return nil, err
	}
	return r.BesideAt(ctx, name, binary, url)
}

// BesideAt is Beside with a database that exists, on any server.
func (r *Rig) BesideAt(ctx context.Context, name, binary, url string) (*Rig, error) {
	o := r.o
	o.Dir, o.Binary, o.DatabaseURL = filepath.Join(r.o.Dir, name), binary, url
	o.Env = append([]string{"COUNTERSIGN_TEMPORAL_NAMESPACE=" + name}, r.o.Env...)
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, err
	}
	other := &Rig{o: o, MasterKey: keyring.Generate(), Postgres: r.Postgres, Temporal: r.Temporal, guest: true}
	r.beside = append(r.beside, other)
	if _, err := other.Run(ctx, "migrate"); err != nil {
		return nil, err
	}
	return other, other.describeServices(r.temporal)
}

// CreateDatabase creates an empty database on the rig's own Postgres and returns its URL.
func (r *Rig) CreateDatabase(ctx context.Context, name string) (string, error) {
	if r.Data == nil {
		return "", errors.New("the rig has no Postgres of its own: start it without DatabaseURL")
	}
	if err := r.Data.server.Create(ctx, name); err != nil {
		return "", fmt.Errorf("database %s: %w", name, err)
	}
	return r.Data.server.URL(name), nil
}

// Pause suspends API and worker until Resume, so that they take nothing from what is measured meanwhile.
func (r *Rig) Pause() {
	r.API.Pause()
	r.Worker.Pause()
}

// Resume ends Pause.
func (r *Rig) Resume() {
	r.API.Resume()
	r.Worker.Resume()
}
