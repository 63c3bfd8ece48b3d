package apitest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	readyWithin = time.Minute      // the time that a script has until it serves
	endsWithin  = 10 * time.Second // the time that its pipes have to close when it was stopped
)

// Node runs a script of a folder with node until the test ends and decodes into ready the JSON that the script prints once it serves.
// The script must end when its standard input does. The test is skipped if the npm package that the script needs is not installed.
func Node(t testing.TB, folder, needs string, ready any, script string, args ...string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder, "node_modules", needs)); err != nil {
		t.Skip("npm ci has not been run in integration/testdata/" + filepath.Base(folder))
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{script}, args...)...) // #nosec G204 -- of the caller
	cmd.Dir = folder
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.WaitDelay = endsWithin
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	late := time.AfterFunc(readyWithin, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	require.NoError(t, json.NewDecoder(out).Decode(ready), "%s", &complaints)
}
