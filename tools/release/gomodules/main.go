// Command gomodules writes the modules of the Go SDK as a module proxy serves them, for a company's own proxy or a GOPROXY=file:// of the folder.
//
//	go run ./gomodules -root ../.. -to folder -version 1.1.0 sdk/go sdk/go/mcpgate ...
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	to := flag.String("to", "", "folder to write")
	version := flag.String("version", "", "version of the release, without v")
	at := flag.Int64("time", 0, "time of the commit in Unix seconds")
	flag.Parse()
	if *to == "" || *version == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	for _, folder := range flag.Args() {
		if err := publish(filepath.Join(*root, folder), *to, "v"+*version, time.Unix(*at, 0).UTC()); err != nil {
			fmt.Fprintf(os.Stderr, "gomodules: %s: %v\n", folder, err)
			os.Exit(1)
		}
	}
}

// publish writes the list, the version's time, the go.mod and the source of the module in a folder. Modules in folders below are not in it.
func publish(folder, to, version string, at time.Time) error {
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	m := module.Version{Path: modfile.ModulePath(mod), Version: version}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir := filepath.Join(to, escaped, "@v")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, at})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	source, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(source, m, folder); err != nil {
		_ = source.Close()
		return err
	}
	return source.Close()
}
