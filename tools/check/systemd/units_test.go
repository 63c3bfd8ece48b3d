// Package systemd checks the units of the Debian packages, and that the packages have them.
package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exposed is the highest exposure of a unit, in tenths, that systemd-analyze calls OK: nearly everything that a service can be denied is.
const exposed = "15"

const root = "../../.."

// units are those of the service and of the gate.
func units(t *testing.T) []string {
	t.Helper()
	service, err1 := filepath.Glob(root + "/deploy/systemd/*.service")
	gate, err2 := filepath.Glob(root + "/gate/recipes/*.service")
	if err1 != nil || err2 != nil || len(service) != 2 || len(gate) != 2 {
		t.Fatalf("%d and %d units: %v %v", len(service), len(gate), err1, err2)
	}
	return append(service, gate...)
}

// A program that exists, so that the rest of a unit is looked at.
var program = regexp.MustCompile(`(?m)^(ExecStart|ExecReload)=[^ $]+`)

func TestUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing: apt-get install systemd")
	}
	dir := t.TempDir()
	for _, path := range units(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unit := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(unit, []byte(program.ReplaceAllString(string(text), "$1=/bin/true")), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		if out, err := exec.Command(analyze, "security", "--offline=true", "--threshold="+exposed, unit).CombinedOutput(); err != nil {
			t.Errorf("%s is more exposed than it need be: %v\n%s", path, err, out)
		}
	}
}

var packed = regexp.MustCompile(`\{src: ([^,*]+), dst: ([^,}]+)`)

// TestPackages reads what the Debian packages have: each unit, where systemd looks for it, the action of HAProxy, and only files that exist.
func TestPackages(t *testing.T) {
	text, err := os.ReadFile(root + "/.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range packed.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("%s: %v", m[2], err)
		}
		found[m[1]] = m[2]
	}
	want := map[string]string{"gate/recipes/countersign.lua": "/usr/share/countersign-gate/countersign.lua"}
	for _, unit := range units(t) {
		want[strings.TrimPrefix(unit, root+"/")] = "/lib/systemd/system/" + filepath.Base(unit)
	}
	for source, at := range want {
		if found[source] != at {
			t.Errorf("%s is packed at %q, not %q", source, found[source], at)
		}
	}
}
