// Command documents copies the documents of a release into a folder, for the archive of the binary.
//
//	go run ./documents -root ../.. -to folder -version 1.1.0 README.md docs/*.md ...
//
// A relative link to what the archive does not have becomes one to the repository at the tag of the version, so that no link of the
// archive leads nowhere.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	to := flag.String("to", "", "folder to write")
	version := flag.String("version", "", "version of the release")
	flag.Parse()
	if *to == "" || *version == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*root, *to, *version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "documents:", err)
		os.Exit(1)
	}
}

// write copies the files and folders of root into the folder to.
func write(root, to, version string, names []string) error {
	files, err := documents(root, names)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, file := range files {
		for at := file; at != "."; at = path.Dir(at) {
			has[at] = true
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		if path.Ext(file) == ".md" {
			text = []byte(inward(file, string(text), version, has))
		}
		at := filepath.Join(to, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(at, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// documents returns the paths below root of the files that are named, and of those in the folders that are named.
func documents(root string, names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(root, name), func(at string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			below, err := filepath.Rel(root, at)
			files = append(files, filepath.ToSlash(below))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// link is the target of a link or a picture in Markdown, with what is before and after it.
var link = regexp.MustCompile(`(\]\()([^)\s]+)(\))`)

// inward returns the text of a document whose relative links lead to files of the archive, or to the repository.
func inward(file, text, version string, has map[string]bool) string {
	return link.ReplaceAllStringFunc(text, func(found string) string {
		part := link.FindStringSubmatch(found)
		target, fragment, _ := strings.Cut(part[2], "#")
		if target == "" || strings.Contains(target, ":") || strings.HasPrefix(target, "/") {
			return found
		}
		at := path.Join(path.Dir(file), target)
		if has[at] {
			return found
		}
		out := "https://github.com/countersign-dev/countersign/blob/v" + version + "/" + at
		if fragment != "" {
			out += "#" + fragment
		}
		return part[1] + out + part[3]
	})
}
