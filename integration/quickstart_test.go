package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuickstart does what docs/quickstart.md and README.md tell a newcomer to do, command by command.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	dir := asDeveloper(t, newSandbox(t))
	script := blocks(t, "../docs/quickstart.md", "sh") + "\nexport BASE KEY SUBJECT NAME\n(cd \"$SDK\" && go run \"$PROGRAM\")\n"
	sdk, err := filepath.Abs("../sdk/go")
	require.NoError(t, err)
	// Inside the SDK's module, so that its import is the one beside it.
	program := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(program, []byte(blocks(t, "../docs/quickstart.md", "go")), 0o600))
	output := shell(t, dir, script, "SDK="+sdk, "PROGRAM="+program)
	for _, want := range []string{"challenge\n", "proof of ", `"valid":true`, "proof_consumed", "verified offline: quickstart."} {
		require.Contains(t, output, want)
	}
}

func TestREADMECommands(t *testing.T) {
	t.Parallel()
	dir := asDeveloper(t, newSandbox(t))
	text := blocks(t, "../README.md", "sh")
	register, ask := text[strings.Index(text, "KEY=$(sed"):], text[:strings.Index(text, "make run")]
	output := shell(t, dir, register+"\n"+ask)
	require.Contains(t, output, `"decision":"challenge"`)
	require.Contains(t, output, "insufficient_evidence")
}

// asDeveloper is a folder as make run leaves it, about the shared service.
func asDeveloper(t *testing.T, w world) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".data", "dev.json"), []byte("{\n  \"server_key\": \""+w.Server.key+"\"\n}\n"), 0o600))
	return dir
}

// blocks are a page's fenced blocks of one language, one after the other.
func blocks(t *testing.T, page, language string) string {
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

func shell(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", strings.ReplaceAll(script, "http://localhost:8080", shared.baseURL))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}
