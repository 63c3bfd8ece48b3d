// Package kit starts the server of the wire kit (sdk/kit/server), which plays its scripts, for the tests of this module.
package kit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// folder is sdk/kit, seen from the package whose test runs.
func folder() string {
	at := "kit"
	for range 4 {
		if _, err := os.Stat(filepath.Join(at, "server", "go.mod")); err == nil {
			break
		}
		at = filepath.Join("..", at)
	}
	return at
}

// Read decodes a file of the kit.
func Read(name string, out any) error {
	text, err := os.ReadFile(filepath.Join(folder(), filepath.Base(name)))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// server is the running server, which the first case starts.
var server struct {
	once sync.Once
	err  error
	url  string
	stop func()
}

// Main runs the tests of a package, such as those of a *testing.M, and ends the server if they started it.
func Main(tests interface{ Run() int }) {
	code := tests.Run()
	if server.stop != nil {
		server.stop()
	}
	os.Exit(code)
}

// Case returns the base URL of a case of a file of the kit, at a server that Main ends.
func Case(file, name string) (string, error) {
	server.once.Do(func() { server.err = start() })
	return server.url + "/" + file + "/" + url.PathEscape(name), server.err
}

// start builds and starts the server.
func start() error {
	kit, err := filepath.Abs(folder())
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "countersign-kit")
	if err != nil {
		return err
	}
	server.stop = func() { _ = os.RemoveAll(temporary) }
	binary := filepath.Join(temporary, "server")
	build := exec.Command("go", "build", "-o", binary, ".") // #nosec G204 -- of this repository
	build.Dir = filepath.Join(kit, "server")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("kit: building the server: %w: %s", err, out)
	}
	cmd := exec.Command(binary, "--addr", "127.0.0.1:0", "--kit", kit) // #nosec G204 -- of this repository
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	server.stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(temporary)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("kit: the server did not start: %w", err)
	}
	server.url, _, _ = strings.Cut(line, " ")
	return nil
}

// Faults says how the calls of the case at a base URL differ from its script.
func Faults(ctx context.Context, base string) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/report", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var report struct{ Faults []string }
	return report.Faults, json.NewDecoder(res.Body).Decode(&report)
}
