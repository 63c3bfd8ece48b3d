package recordings

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
)

// Kind is the format of a recording set, which the file name determines.
type Kind string

// The formats: *.keystrokes.csv.gz, *.pointer.csv.gz, *.vectors.csv.gz.
const (
	Keystrokes Kind = "keystrokes"
	Pointer    Kind = "pointer"
	Vectors    Kind = "vectors"
)

// Set is one file of recordings.
type Set struct {
	Name string // file name without the format's suffix
	Path string
	Kind Kind
	Size int64 // bytes of the file
}

// Find lists the recording sets in a folder and its subfolders, sorted by path.
func Find(dir string) ([]Set, error) {
	var out []Set
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, kind := range []Kind{Keystrokes, Pointer, Vectors} {
			suffix := "." + string(kind) + ".csv.gz"
			if name := d.Name(); !d.IsDir() && strings.HasSuffix(name, suffix) {
				info, err := d.Info()
				if err != nil {
					return err
				}
				out = append(out, Set{Name: strings.TrimSuffix(name, suffix), Path: path, Kind: kind, Size: info.Size()})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recordings: find in %s: %w", dir, err)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out, nil
}
