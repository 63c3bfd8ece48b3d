package configfile

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/yamlfile"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// maxLogo is the most bytes of a logo's file. The service accepts less and states its limit.
const maxLogo = 1 << 20

// Load reads a file and the logo beside it. An error is a *yamlfile.Fault unless a file cannot be read.
func Load(path string) (*Document, error) {
	raw, err := readBounded(path, maxFile+1)
	if err != nil {
		return nil, err
	}
	doc, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	if doc.Environment == nil || doc.Environment.Brand == nil || doc.Environment.Brand.Logo == nil || *doc.Environment.Brand.Logo == "" {
		return doc, nil
	}
	// A file may come from elsewhere: it names no file but those of its folder.
	name := *doc.Environment.Brand.Logo
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, yamlfile.At(0, "environment.brand.logo is %q; it must be the name of a PNG in the folder of the file", name)
	}
	png, err := readBounded(filepath.Join(filepath.Dir(path), name), maxLogo)
	if err != nil {
		return nil, fmt.Errorf("environment.brand.logo: %w", err)
	}
	text := base64.StdEncoding.EncodeToString(png)
	doc.Environment.Brand.Logo = &text
	return doc, nil
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the author's file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// Save writes the document to a file, and its logo beside it.
func (d Document) Save(path string) error {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + "-logo.png"
	file, logo, err := d.withLogo(name)
	if err != nil {
		return err
	}
	if logo != nil {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), logo, 0o600); err != nil {
			return err
		}
	}
	text, err := file.YAML()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// WithoutLogo returns the document without its logo, which is not managed by it then, and whether it had one.
func (d Document) WithoutLogo() (Document, bool) {
	if d.Environment == nil || d.Environment.Brand == nil || d.Environment.Brand.Logo == nil || *d.Environment.Brand.Logo == "" {
		return d, false
	}
	return d.branded(nil), true
}

// withLogo returns the document with a logo's file name instead of its bytes.
func (d Document) withLogo(name string) (Document, []byte, error) {
	if _, has := d.WithoutLogo(); !has {
		return d, nil, nil
	}
	png, err := base64.StdEncoding.DecodeString(*d.Environment.Brand.Logo)
	return d.branded(&name), png, err
}

func (d Document) branded(logo *string) Document {
	env := *d.Environment
	env.Brand = &countersign.BrandUpdate{Accent: env.Brand.Accent, Language: env.Brand.Language, Name: env.Brand.Name, Logo: logo}
	d.Environment = &env
	return d
}
