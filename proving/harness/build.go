package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/internal/local/gobuild"
	"github.com/countersign-dev/countersign/internal/local/progress"
)

// Built is the service as built from a commit.
type Built struct {
	Commit string // abbreviated
	Binary string // path
	typist string // path of the program of Typists
}

// build builds the binaries from a work tree of the commit, with the
// compiler that built this program: what differs is the code.
func (b Built) build(ctx context.Context, tree string, bar *progress.Bar) error {
	defer bar.Close()
	typist, err := writeTypist(tree)
	if err != nil {
		return err
	}
	for out, name := range map[string]string{b.Binary: "./cmd/countersign", b.typist: typist} {
		spec := gobuild.Spec{Dir: tree, Package: name, Out: out, Flags: []string{"-trimpath"}, Env: []string{"CGO_ENABLED=0"}}
		if err := gobuild.Build(ctx, spec, func(p gobuild.Progress) {
			bar.Show(b.Commit+": "+p.What(), int64(p.Done), int64(p.Total))
		}); err != nil {
			return err
		}
	}
	return nil
}

// BuildCommit builds the service of a commit of the repository in the working folder, in a work tree of its own under the system's
// folder for temporary files. The caller calls remove at the end; it removes the work tree and the binary.
func BuildCommit(ctx context.Context, commit string, bar *progress.Bar) (_ Built, remove func(), err error) {
	if strings.HasPrefix(commit, "-") { // git would read an option
		return Built{}, nil, fmt.Errorf("BASE is %q: name a commit, such as HEAD~20", commit)
	}
	id, err := git(ctx, "rev-parse", "--short", "--verify", commit+"^{commit}")
	if err != nil {
		return Built{}, nil, fmt.Errorf("BASE is %q, which is no commit of this repository: name one, such as HEAD~20: %w", commit, err)
	}
	dir, err := os.MkdirTemp("", "countersign-base-")
	if err != nil {
		return Built{}, nil, err
	}
	tree := filepath.Join(dir, "tree")
	remove = func() {
		// The context may have ended, and the work tree is removed all the same. One that stays is only disk space.
		_, _ = git(context.WithoutCancel(ctx), "worktree", "remove", "--force", tree)
		_ = os.RemoveAll(dir)
	}
	built := Built{Commit: id, Binary: filepath.Join(dir, "countersign"), typist: filepath.Join(dir, "typist")}
	if _, err = git(ctx, "worktree", "add", "--detach", tree, id); err == nil {
		err = built.build(ctx, tree, bar)
	}
	if err != nil {
		remove()
		return Built{}, nil, fmt.Errorf("commit %s: %w", id, err)
	}
	return built, remove, nil
}

// git returns the output of a command of git, without its last line break.
// The error has what git wrote to standard error.
func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output() // #nosec G204 -- a developer's tool
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
