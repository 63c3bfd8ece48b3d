package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDocumentsHaveNoLinkThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	const repository = "https://github.com/countersign-dev/countersign/blob/v1.2.3/"
	for _, c := range []struct{ name, in, out string }{
		{"a page of the archive", "[a](b.md#part)", "[a](b.md#part)"},
		{"a folder of the archive", "[a](../deploy/systemd)", "[a](../deploy/systemd)"},
		{"a file that is not in it", "[a](../internal/x/x.go#L3) and [b](b.md)", "[a](" + repository + "internal/x/x.go#L3) and [b](b.md)"},
		{"a picture that is not in it", "![a](pictures/a.png)", "![a](" + repository + "docs/pictures/a.png)"},
		{"a heading of the page", "[a](#part)", "[a](#part)"},
		{"another site", "[a](https://example.com/x)", "[a](https://example.com/x)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, to := t.TempDir(), t.TempDir()
			for file, text := range map[string]string{"docs/a.md": c.in, "docs/b.md": "", "deploy/systemd/x.service": "(a)[b](c)"} {
				at := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := write(root, to, "1.2.3", []string{"docs/a.md", "docs/b.md", "deploy"}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(to, "docs/a.md"))
			if err != nil || string(got) != c.out {
				t.Errorf("%q, %v; want %q", got, err, c.out)
			}
		})
	}
}
