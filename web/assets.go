package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// dist is the output of go generate for assets/src. It is committed so that building the binary needs no bundler.
//
//go:embed assets/dist
var dist embed.FS

// assetPrefix is the path prefix of all assets.
const assetPrefix = "/assets/"

// minCompressedSize is the size in bytes below which compression saves nothing.
const minCompressedSize = 1024

// asset is one file. Its URL contains a hash of its content, so a browser may cache it without limit.
type asset struct {
	url, contentType string
	plain, packed    []byte // packed is gzip; nil if compression saves nothing
}

// assets has all files, by source name and by the file name in the URL.
type assets struct {
	byName, byFile map[string]*asset
}

func loadAssets(files fs.FS) (*assets, error) {
	a := &assets{byName: map[string]*asset{}, byFile: map[string]*asset{}}
	return a, fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return a.add(path.Base(name), content)
	})
}

func (a *assets) add(name string, content []byte) error {
	sum := sha256.Sum256(content)
	extension := path.Ext(name)
	file := strings.TrimSuffix(name, extension) + "." + base64.RawURLEncoding.EncodeToString(sum[:9]) + extension
	packed, err := pack(content, gzip.BestCompression)
	if err != nil {
		return err
	}
	made := &asset{url: assetPrefix + file, contentType: mime.TypeByExtension(extension), plain: content, packed: packed}
	if made.contentType == "" {
		return fmt.Errorf("asset %s: unknown content type for %q", name, extension)
	}
	a.byName[name], a.byFile[file] = made, made
	return nil
}

func pack(content []byte, level int) ([]byte, error) {
	if len(content) < minCompressedSize {
		return nil, nil
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil || b.Len() >= len(content) {
		return nil, err
	}
	return b.Bytes(), nil
}

// url returns the path of the asset with that source name.
func (a *assets) url(name string) (string, error) {
	found, ok := a.byName[name]
	if !ok {
		return "", fmt.Errorf("asset %q does not exist; run go generate ./web", name)
	}
	return found.url, nil
}

func (a *assets) serve(c *fiber.Ctx) error {
	found, ok := a.byFile[c.Params("file")]
	if !ok {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderContentType, found.contentType)
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	if found.packed != nil && strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		return c.Send(found.packed)
	}
	return c.Send(found.plain)
}
