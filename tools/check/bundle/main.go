// Command bundle makes the committed files of web/assets/dist out of web/assets/src. Every .ts and .css file directly in
// the source folder is an entry and becomes one self-contained file of the same name; .svg files are copied; folders hold
// what entries import. The same source gives the same bytes, which is how make verify sees a stale file.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: bundle <source folder> <target folder>")
		os.Exit(2)
	}
	if err := bundle(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func bundle(source, target string) error {
	var entries []string
	for _, pattern := range []string{"*.ts", "*.css"} {
		found, err := filepath.Glob(filepath.Join(source, pattern))
		if err != nil {
			return err
		}
		entries = append(entries, found...)
	}
	if len(entries) == 0 {
		return fmt.Errorf("%s has no entry", source)
	}
	built := api.Build(api.BuildOptions{
		EntryPoints: entries, Outdir: target, Bundle: true, Write: false,
		Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2022,
		Engines: []api.Engine{
			{Name: api.EngineChrome, Version: "116"}, {Name: api.EngineFirefox, Version: "124"}, {Name: api.EngineSafari, Version: "17.4"},
		},
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, LegalComments: api.LegalCommentsNone,
		Charset: api.CharsetUTF8, LogLevel: api.LogLevelWarning,
	})
	if len(built.Errors) > 0 {
		return errors.New("the sources do not build")
	}
	if err := os.RemoveAll(target); err != nil { // what lost its source goes
		return err
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	for _, f := range built.OutputFiles {
		if err := os.WriteFile(f.Path, f.Contents, 0o644); err != nil {
			return err
		}
	}
	return copyPictures(source, target)
}

func copyPictures(source, target string) error {
	pictures, err := filepath.Glob(filepath.Join(source, "*.svg"))
	if err != nil {
		return err
	}
	for _, p := range pictures {
		content, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(target, filepath.Base(p)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
