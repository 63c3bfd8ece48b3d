package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/models"
)

// TestQuickstart runs every command of docs/quickstart.md.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	dir := developerFolder(t, newSandbox(t))
	buildService(t, filepath.Join(dir, "bin"))
	script := codeBlocks(t, "../docs/quickstart.md", "sh") + "\nexport BASE KEY SUBJECT NAME\n(cd \"$SDK\" && go run \"$PROGRAM\")\n"
	sdk, err := filepath.Abs("../sdk/go")
	require.NoError(t, err)
	// The program runs inside the SDK's module, so that it imports that version.
	program := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(program, []byte(codeBlocks(t, "../docs/quickstart.md", "go")), 0o600))
	output := runShell(t, dir, script, "SDK="+sdk, "PROGRAM="+program)
	for _, want := range []string{"challenge\n", "proof of ", `"valid":true`, "proof_consumed", "verified offline: quickstart.",
		"self: allow\n", "other: hold\n", "replay: deny\n", "program: hold\n"} {
		require.Contains(t, output, want)
	}
}

// Commands of pages run in tests as they are printed: what a page needs is put where the page says it is.
func TestCommandsOfPagesAreRunAsPrinted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotRegexp(t, `(Replace|Cut)[A-Za-z]*\(codeBlocks\(.*"(:|true)`, string(text), "%s does not run a command of a page", file)
	}
}

// TestAgentsPage runs the commands and the program of docs/agents.md.
func TestAgentsPage(t *testing.T) {
	t.Parallel()
	dir := developerFolder(t, newSandbox(t))
	module, err := filepath.Abs("../sdk/go/mcpgate")
	require.NoError(t, err)
	program := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(program, []byte(codeBlocks(t, "../docs/agents.md", "go")), 0o600))
	script := codeBlocks(t, "../docs/agents.md", "sh") + "\n(cd \"$MODULE\" && go run \"$PROGRAM\")\n"
	output := runShell(t, dir, script, "MODULE="+module, "PROGRAM="+program)
	require.Contains(t, output, "/challenge/chl_")
	require.Contains(t, output, "sent 10 to Eve")
	t.Run("in TypeScript", func(t *testing.T) {
		t.Parallel()
		requireMCP(t)
		dir := developerFolder(t, newSandbox(t)) // the page names its action by the second
		env := regexp.MustCompile(`(?m)^(BASE|KEY|NAME|SUBJECT)=.*$`).FindAllString(runShell(t, dir, codeBlocks(t, "../docs/agents.md", "sh")+"\nenv\n"), -1)
		cmd, out := node(t, codeBlocks(t, "../docs/agents.md", "js"), env...)
		require.NoError(t, cmd.Run(), "%s", out)
		require.Contains(t, out.String(), "sent 10 to Eve")
	})
}

func TestREADMECommands(t *testing.T) {
	t.Parallel()
	dir := developerFolder(t, newSandbox(t))
	_, script, found := strings.Cut(codeBlocks(t, "../README.md", "sh"), "make test ")
	require.True(t, found)
	_, script, _ = strings.Cut(script, "\n")
	output := runShell(t, dir, script)
	require.Contains(t, output, `"decision":"challenge"`)
	require.Contains(t, output, "insufficient_evidence")
	t.Run("and those of trying policies", func(t *testing.T) {
		t.Parallel()
		repository, err := filepath.Abs("..")
		require.NoError(t, err)
		require.NoError(t, os.Symlink(filepath.Join(repository, "docs"), filepath.Join(dir, "docs")))
		buildService(t, filepath.Join(dir, "bin"))
		output := runShell(t, dir, codeBlocks(t, "../docs/trying-policies.md", "sh"))
		require.Contains(t, output, " as expected, 0 different\n")
		require.Contains(t, output, `"before":{"challenge":1}`)
		require.Contains(t, output, `"after":{"allow":1}`)
	})
}

// developerFolder is a folder like the one that make run creates, for the shared service, with the keys of the given environments.
func developerFolder(t *testing.T, environments ...world) string {
	t.Helper()
	dir, state := t.TempDir(), dev.State{BaseURL: shared.baseURL, DatabaseURL: shared.database, Tenant: environments[0].TenantID}
	for _, w := range environments {
		keys := dev.Keys{ServerKey: w.Server.key, AdminKey: w.Admin.key}
		if w.Kind == models.Live {
			state.Environments.Live = keys
		} else {
			state.Environments.Sandbox = keys
		}
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".data"), 0o700))
	require.NoError(t, dev.WriteState(filepath.Join(dir, ".data"), state))
	require.NoError(t, os.WriteFile(dev.MasterKeyPath(filepath.Join(dir, ".data")), []byte(shared.masterKey), 0o600))
	return dir
}

// buildService builds the one binary in a folder, from the cache of make test.
func buildService(t *testing.T, dir string) {
	t.Helper()
	runShell(t, "..", `go build -o "$BIN/countersign" ./cmd/countersign`, "BIN="+dir)
}

// codeBlocks returns a page's code blocks of one language, concatenated.
func codeBlocks(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var all []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	require.NotEmpty(t, all)
	return strings.Join(all, "\n")
}

// startScript starts a script, which ends with the test, and with it what it has started. It returns what they print.
func startScript(t *testing.T, cmd *exec.Cmd) *syncBuffer {
	t.Helper()
	out := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Log(out.String())
		}
	})
	return out
}

func runShell(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", strings.ReplaceAll(script, "http://localhost:8080", shared.baseURL))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}
