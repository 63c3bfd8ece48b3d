package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// BinariesEnv names the folder of initdb and postgres to use, instead of those of the usual packages.
const BinariesEnv = "COUNTERSIGN_POSTGRES_BINARIES"

// oldest is the oldest major version that the service supports.
const oldest = 15

// installWithin bounds the installation of Postgres by the system's package manager.
const installWithin = 10 * time.Minute

// ErrNoBinaries reports that the machine has no Postgres and that none
// could be installed. Its text explains how to install it.
var ErrNoBinaries = errors.New("no PostgreSQL " + strconv.Itoa(oldest) + " or newer was found (initdb and postgres, looked for " +
	"on PATH, under /usr/lib/postgresql and in Homebrew): install it (Debian: apt-get install postgresql; " +
	"macOS: brew install postgresql@17), or set COUNTERSIGN_DATABASE_URL to a server of your own")

// binaries is one installation of Postgres: the folder of its programs and
// its major version.
type binaries struct {
	dir   string
	major int
}

func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }
func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }

// places are the folders that the usual packages install the programs in,
// besides PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
}

// find returns the installation of the wanted major version, or the newest
// if want is 0. If there is none it tries to install Postgres. A cluster
// can be started by its own major version only.
func find(ctx context.Context, want int) (binaries, error) {
	all := installed(ctx)
	if len(all) == 0 {
		return binaries{}, ErrNoBinaries
	}
	if want == 0 {
		return all[0], nil
	}
	for _, b := range all {
		if b.major == want {
			return b, nil
		}
	}
	return binaries{}, fmt.Errorf("the database was made by PostgreSQL %d and this machine has only %d: install "+
		"PostgreSQL %d, or rename the folder to start with an empty database", want, all[0].major, want)
}

// installed lists the usable installations, newest first.
func installed(ctx context.Context) []binaries {
	var found []binaries
	for _, dir := range candidates() {
		if !executable(filepath.Join(dir, "initdb")) || !executable(filepath.Join(dir, "postgres")) {
			continue
		}
		major, err := majorOf(ctx, filepath.Join(dir, "postgres"))
		known := func(b binaries) bool { return b.major == major }
		if err == nil && major >= oldest && !slices.ContainsFunc(found, known) {
			found = append(found, binaries{dir: dir, major: major})
		}
	}
	slices.SortStableFunc(found, func(a, b binaries) int { return b.major - a.major })
	return found
}

// candidates lists the folders to look in, PATH first.
func candidates() []string {
	if given := os.Getenv(BinariesEnv); given != "" {
		return []string{given}
	}
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		// A link on PATH points into the installation, where the other programs are.
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, p := range places {
		matches, _ := filepath.Glob(p)
		dirs = append(dirs, matches...)
	}
	return dirs
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

var versionNumber = regexp.MustCompile(`\) (\d+)`)

// majorOf asks a postgres binary for its major version.
func majorOf(ctx context.Context, postgres string) (int, error) {
	out, err := exec.CommandContext(ctx, postgres, "--version").Output() // #nosec G204 -- a program found by name
	if err != nil {
		return 0, err
	}
	m := versionNumber.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s does not print its version", postgres)
	}
	return strconv.Atoi(string(m[1]))
}

// install installs Postgres with the system's package manager, if this
// process may. The package manager's output goes to a file beside the
// cluster.
func install(ctx context.Context, logPath string, say func(string, ...any)) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return ErrNoBinaries
	}
	say("Postgres is not installed: installing it with apt-get (a minute or two)")
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	out, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	env := append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	for _, args := range [][]string{
		{"update", "-q"},
		{"install", "-q", "-y", "--no-install-recommends", "postgresql"},
	} {
		if err := subprocess.Run(ctx, subprocess.Spec{Path: apt, Args: args, Env: env, Output: out}); err != nil {
			return fmt.Errorf("apt-get %s did not work (its words are in %s): %w", args[0], logPath, ErrNoBinaries)
		}
	}
	return nil
}
