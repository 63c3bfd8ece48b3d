package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// language is an SDK, and how its copy is made and tested.
type language struct {
	name    string
	tables  string   // the table of edits, in the SDK's folder
	sources string   // folder of the files that the table names
	copies  []string // what of the SDK is copied
	links   []string // what is linked
	needs   []string // programs, looked up below the repository's bin/ first
	compile func(c copied, file string) []string
	test    func(c copied, file string) []string
}

// copied is a copy of an SDK, beside a link to the kit.
type copied struct {
	language
	root   string
	folder string
}

// An edit removes a guard, unless the reason why it cannot be removed is inherent.
type edit struct {
	inherent     string
	replacements []replacement
}

type replacement struct{ file, old, new string }

var languages = []language{
	{
		name: "go", tables: "testdata/guards.json", needs: []string{"go"},
		copies: []string{"go.mod", "go.sum", "*.go", "*.json", "testdata", "internal", "events", "exact", "proof", "protect", "webhook"},
		compile: func(c copied, file string) []string {
			return []string{"go", "test", "-c", "-vet=off", "-o", filepath.Join(c.folder, "kit.test"), "./" + goPackage(file)}
		},
		test: func(c copied, file string) []string {
			return []string{"cd=" + goPackage(file), filepath.Join(c.folder, "kit.test"), "-test.timeout=60s", "-test.run=^" + goTests[file] + "$"}
		},
	},
	{
		name: "js", tables: "test/guards.json", needs: []string{"node"},
		copies: []string{"package.json", "tsconfig.json", "src", "test"}, links: []string{"node_modules"},
		compile: func(copied, string) []string {
			return []string{"node_modules/.bin/esbuild", "test/kit.test.ts", "--bundle", "--format=esm", "--platform=node", "--target=node20", "--packages=external",
				"--log-level=error", "--outfile=.build/kit.test.mjs"}
		},
		test: func(_ copied, file string) []string {
			return []string{"node", "--test", "--test-reporter=spec", "--test-name-pattern=^kit, " + jsTests[file], ".build/kit.test.mjs"}
		},
	},
	{
		name: "python", tables: "tests/guards.json", sources: "src/countersign", needs: []string{"python/bin/python"},
		copies: []string{"pyproject.toml", "src", "tests"},
		compile: func(c copied, _ string) []string {
			return []string{"PYTHONDONTWRITEBYTECODE=1", c.program("python/bin/python"), "-c", "import sys; sys.path.insert(0, 'src'); import countersign"}
		},
		test: func(c copied, file string) []string {
			return []string{"PYTHONDONTWRITEBYTECODE=1", c.program("python/bin/python"), "-m", "pytest", "--tb=line", "-k", pythonTests[file], "tests/test_kit.py"}
		},
	},
	{
		name: "java", tables: "src/test/guards.json", sources: "src/main/java/dev/countersign", needs: []string{"javac", "java", "maven/org/junit/platform/junit-platform-launcher"},
		copies: []string{"src"},
		compile: func(c copied, _ string) []string {
			return append(append([]string{"javac", "-nowarn", "-proc:none", "-d", "classes", "-cp", c.jars(), filepath.Join(c.root, "tools", "guards", "RunKit.java")},
				c.java("src/main/java")...), append(c.java("src/testing/java"), filepath.Join(c.folder, "src", "test", "java", "dev", "countersign", "KitTest.java"))...)
		},
		test: func(c copied, file string) []string {
			return []string{"java", "-XX:TieredStopAtLevel=1", "-cp", strings.Join([]string{"classes", "src/main/resources", c.jars()}, string(os.PathListSeparator)), "RunKit", javaTests[file]}
		},
	},
}

// The tests of each file of the kit.
var (
	goTests = map[string]string{"requests": "TestKitRequests", "responses": "TestKitResponses", "retries": "TestKitRetries", "pages": "TestKitPages", "streams": "TestKitStreams",
		"keys": "TestKitKeySets", "proofs": "TestKitProofs", "webhooks": "TestKitWebhooks", "canonical": "TestKitCanonicalJSON"}
	jsTests = map[string]string{"requests": "a request:", "responses": "a response:", "retries": "retries:", "pages": "pages:", "streams": "a stream:",
		"keys": "a key set:", "proofs": "a proof:", "webhooks": "a webhook:", "canonical": "canonical JSON"}
	pythonTests = map[string]string{"requests": "test_requests", "responses": "test_responses", "retries": "test_retries", "pages": "test_pages", "streams": "test_streams",
		"keys": "test_key_sets", "proofs": "test_proofs", "webhooks": "test_webhooks", "canonical": "test_canonical"}
	javaTests = map[string]string{"requests": "requests", "responses": "responses", "retries": "retries", "pages": "pages", "streams": "streams",
		"keys": "keySets", "proofs": "proofs", "webhooks": "webhooks", "canonical": "refusedTexts"}
)

// goPackage is the folder of the package that tests a file of the kit.
func goPackage(file string) string {
	switch file {
	case "keys":
		return "proof"
	case "webhooks":
		return "webhook"
	}
	return "."
}

// missing names a program that is not installed.
func (l language) missing(root string) string {
	for _, name := range l.needs {
		_, err := exec.LookPath(name)
		if _, inBin := os.Stat(filepath.Join(root, "bin", name)); err != nil && inBin != nil {
			return name + " is missing"
		}
	}
	for _, name := range l.links {
		if _, err := os.Stat(filepath.Join(root, "sdk", l.name, name)); err != nil {
			return name + " is missing"
		}
	}
	return ""
}

// table reads the edits of the SDK. It is an error if a guard has none, or if a text that an edit replaces is not in its file once.
func (l language) table(root string, guards []guard) (map[guardKey]edit, error) {
	path := filepath.Join(root, "sdk", l.name, l.tables)
	var files map[string]json.RawMessage
	if err := read(path, &files); err != nil {
		return nil, err
	}
	out := map[guardKey]edit{}
	var failures []error
	for _, g := range guards {
		e, err := entry(files[g.File], g.Name)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %s: %w", path, g, err))
		}
		for _, r := range e.replacements {
			text, err := os.ReadFile(filepath.Join(root, "sdk", l.name, l.sources, r.file))
			if err != nil {
				failures = append(failures, err)
			} else if !strings.Contains(string(text), r.old) {
				failures = append(failures, fmt.Errorf("%s: %s: %s has no %q", path, g, r.file, r.old))
			}
		}
		out[g.key()] = e
	}
	return out, errors.Join(failures...)
}

// guardKey identifies a guard.
type guardKey struct{ file, name string }

func (g guard) key() guardKey { return guardKey{g.File, g.Name} }

// entry reads the edit of a guard: a list of file, old text and new text, or a reason why the guard cannot be removed, which may stand for the
// whole file.
func entry(file json.RawMessage, name string) (edit, error) {
	if reason := text(file); reason != "" {
		return edit{inherent: reason}, nil
	}
	var byName map[string]json.RawMessage
	if err := json.Unmarshal(file, &byName); err != nil {
		return edit{}, errors.New("it has no entry")
	}
	if reason := text(byName[name]); reason != "" {
		return edit{inherent: reason}, nil
	}
	var words []string
	if err := json.Unmarshal(byName[name], &words); err != nil || len(words) == 0 || len(words)%3 != 0 {
		return edit{}, errors.New("it has no file, old text and new text, and no reason")
	}
	var e edit
	for r := range slices.Chunk(words, 3) {
		e.replacements = append(e.replacements, replacement{r[0], r[1], r[2]})
	}
	return e, nil
}

func text(raw json.RawMessage) (out string) {
	if json.Unmarshal(raw, &out) != nil {
		return ""
	}
	return out
}

// copied copies the SDK to a folder, with the kit beside it.
func (l language) copied(root, temporary string) (copied, error) {
	from, to := filepath.Join(root, "sdk", l.name), filepath.Join(temporary, "sdk", l.name)
	if err := os.MkdirAll(to, 0o750); err != nil {
		return copied{}, err
	}
	for _, pattern := range l.copies {
		matches, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil {
			return copied{}, err
		}
		for _, path := range matches {
			if err := copyTree(path, filepath.Join(to, filepath.Base(path))); err != nil {
				return copied{}, err
			}
		}
	}
	err := os.Symlink(filepath.Join(root, "sdk", "kit"), filepath.Join(temporary, "sdk", "kit"))
	for _, name := range l.links {
		err = errors.Join(err, os.Symlink(filepath.Join(from, name), filepath.Join(to, name)))
	}
	return copied{l, root, to}, err
}

// copyTree copies a file or a folder.
func copyTree(from, to string) error {
	if info, err := os.Stat(from); err != nil || info.IsDir() {
		return errors.Join(err, os.CopyFS(to, os.DirFS(from)))
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

func (c copied) program(name string) string { return filepath.Join(c.root, "bin", name) }

// java lists the sources of the package, without its folders, which need a servlet container.
func (c copied) java(folder string) []string {
	sources, _ := filepath.Glob(filepath.Join(c.folder, folder, "dev", "countersign", "*.java")) // the pattern is well-formed
	return slices.DeleteFunc(sources, func(path string) bool { return filepath.Base(path) == "package-info.java" })
}

// jars is the class path of what make test-java downloaded, the latest version of each.
func (c copied) jars() string {
	var out []string
	for _, artifact := range []string{"com/fasterxml/jackson/core/*", "org/jspecify/jspecify", "org/junit/jupiter/*", "org/junit/platform/*", "org/opentest4j/opentest4j", "org/apiguardian/apiguardian-api"} {
		folders, _ := filepath.Glob(filepath.Join(c.root, "bin", "maven", artifact)) // the pattern is well-formed
		for _, folder := range folders {
			jars, _ := filepath.Glob(filepath.Join(folder, "*", filepath.Base(folder)+"-*.jar"))
			if len(jars) > 0 {
				out = append(out, slices.MaxFunc(jars, byVersion))
			}
		}
	}
	return strings.Join(out, string(os.PathListSeparator))
}

// byVersion compares paths whose versions have numbers of different lengths.
func byVersion(a, b string) int {
	numbers := func(path string) (out []int) {
		for _, n := range strings.FieldsFunc(filepath.Base(filepath.Dir(path)), func(r rune) bool { return r < '0' || r > '9' }) {
			var v int
			_, _ = fmt.Sscan(n, &v) // digits
			out = append(out, v)
		}
		return out
	}
	return slices.Compare(numbers(a), numbers(b))
}
