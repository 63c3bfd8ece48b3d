package localpg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// servants are the users that may run Postgres in root's place, best first.
var servants = []string{"postgres", "nobody"}

// runAs returns the user that Postgres runs as. It is nil, which is the
// current user, unless this process is root, because Postgres refuses to
// run as root.
func runAs() (*subprocess.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range servants {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			continue
		}
		return &subprocess.User{Name: name, UID: uint32(uid), GID: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and this machine has none of the users %s: start as a different user",
		strings.Join(servants, ", "))
}

// settle creates the folder of the cluster and gives it to Postgres' user.
// If that user cannot reach dir, such as a home folder closed to others, a
// different folder is used that belongs to this dir alone.
func settle(ctx context.Context, dir string, as *subprocess.User, say func(string, ...any)) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := prepare(ctx, dir, as); err == nil {
		return dir, nil
	} else if as == nil {
		return "", fmt.Errorf("the folder %s cannot be used for the database: %w", dir, err)
	}
	key := sha256.Sum256([]byte(dir))
	for _, base := range []string{"/var/lib/countersign", filepath.Join(os.TempDir(), "countersign")} {
		other := filepath.Join(base, hex.EncodeToString(key[:6]))
		if err = os.MkdirAll(base, 0o755); err != nil { // #nosec G301 -- the servant must pass through
			continue
		}
		if err = prepare(ctx, other, as); err == nil {
			say("Postgres runs as user %s, who cannot enter %s: its data is in %s", as.Name, dir, other)
			return other, nil
		}
	}
	return "", fmt.Errorf("user %s can use neither %s nor a folder under /var/lib or %s for the database: %w",
		as.Name, dir, os.TempDir(), err)
}

// prepare creates dir, changes its owner to the user, and checks that the
// user can write into it.
func prepare(ctx context.Context, dir string, as *subprocess.User) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if as == nil {
		return writable(ctx, dir, nil)
	}
	if err := os.Chown(dir, int(as.UID), int(as.GID)); err != nil {
		return err
	}
	return writable(ctx, dir, as)
}

// writable tries to write as the user, because permission bits alone do not
// show whether that works.
func writable(ctx context.Context, dir string, as *subprocess.User) error {
	return subprocess.Run(ctx, subprocess.Spec{
		Path: "/bin/sh", Args: []string{"-c", `cd "$1" && : >.probe && rm -f .probe`, "probe", dir},
		Dir: "/", User: as,
	})
}
