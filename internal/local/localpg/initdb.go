package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// initialise creates the cluster unless it exists, and returns the owner's
// password. initdb works in a folder beside the final one, which is renamed
// at the end, so that a killed initdb leaves nothing that looks like a
// cluster.
func (c *cluster) initialise(ctx context.Context) (string, error) {
	secret := filepath.Join(c.dir, "password")
	if c.exists() {
		text, err := os.ReadFile(secret) // #nosec G304 -- a file of our own folder
		if err != nil {
			return "", fmt.Errorf("the password of the database in %s is missing: restore %s, or rename the folder "+
				"to start with an empty database", c.dir, secret)
		}
		return strings.TrimSpace(string(text)), nil
	}
	c.Say("making a Postgres %d cluster in %s", c.bin.major, c.dir)
	password := newPassword()
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		return "", err
	}
	if c.user != nil { // initdb reads it as that user
		if err := os.Chown(secret, int(c.user.UID), int(c.user.GID)); err != nil {
			return "", err
		}
	}
	made := c.data() + ".new"
	if err := os.RemoveAll(made); err != nil {
		return "", err
	}
	if err := c.initdb(ctx, made, secret); err != nil {
		return "", err
	}
	return password, os.Rename(made, c.data())
}

// initdb creates a cluster whose only role has the password secret.
func (c *cluster) initdb(ctx context.Context, into, secret string) error {
	args := []string{"-D", into, "-U", owner, "--pwfile", secret, "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C"}
	if c.Ephemeral {
		args = append(args, "--no-sync")
	}
	return subprocess.Run(ctx, subprocess.Spec{Path: c.bin.initdb(), Args: args, Dir: c.dir, User: c.user})
}

// exists reports whether the folder contains a complete cluster.
func (c *cluster) exists() bool {
	for _, name := range []string{"PG_VERSION", "global/pg_control", "postgresql.conf"} {
		if _, err := os.Stat(filepath.Join(c.data(), name)); err != nil {
			return false
		}
	}
	return true
}

// madeBy is the major version that created the cluster; 0 if there is no
// cluster.
func (c *cluster) madeBy() int {
	text, err := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return major
}

// setAsideDamaged renames a folder that is not a complete cluster. Its
// content is left unchanged, because it may be data.
func (c *cluster) setAsideDamaged() error {
	if _, err := os.Stat(c.data()); errors.Is(err, os.ErrNotExist) || c.exists() {
		return nil
	}
	aside := unused(c.data() + ".damaged")
	if err := os.Rename(c.data(), aside); err != nil {
		return fmt.Errorf("%s is no whole database and cannot be moved aside: %w", c.data(), err)
	}
	c.Say("%s is no whole database: moved to %s, starting with an empty one", c.data(), aside)
	return nil
}

// unused is the first of path-1, path-2, ... that does not exist.
func unused(path string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", path, n)
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name
		}
	}
}

// settings is the server's command line. It overrides the files of the
// cluster, so that a changed setting applies to existing clusters as well.
func (c *cluster) settings(port int) []string {
	values := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(port),
		"unix_socket_directories=",
		"max_connections=200",
		"shared_buffers=128MB",
		"wal_compression=on",
		"max_wal_size=2GB",
		"timezone=UTC",
		"log_timezone=UTC",
		"jit=off",
		"logging_collector=off",
		"log_destination=stderr",
		"log_min_messages=warning",
		"log_checkpoints=off",
	}
	if c.Ephemeral {
		values = append(values, "max_connections=300", "fsync=off", "synchronous_commit=off", "full_page_writes=off",
			"max_wal_size=4GB", "autovacuum=on")
	}
	if c.Archive != "" {
		// The copy gets its name when it is complete, so that a killed copy is not restored from.
		values = append(values, "archive_mode=on", fmt.Sprintf("archive_command=cp %%p '%[1]s/%%f.new' && mv '%[1]s/%%f.new' '%[1]s/%%f'", c.Archive))
	}
	values = append(values, c.Settings...)
	args := make([]string, 0, 2*len(values))
	for _, v := range values {
		args = append(args, "-c", v)
	}
	return args
}
