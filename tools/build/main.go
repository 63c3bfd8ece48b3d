// Command build builds a program as go build does and shows its progress: a bar in a terminal, a line every ten seconds elsewhere.
// The Makefile uses it. Flags of go build follow "--".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/countersign-dev/countersign/internal/local/gobuild"
	"github.com/countersign-dev/countersign/internal/local/progress"
)

func main() {
	var s gobuild.Spec
	flag.StringVar(&s.Dir, "C", ".", "`folder` of the module")
	flag.StringVar(&s.Out, "o", "", "`path` of the program")
	flag.StringVar(&s.Package, "package", ".", "`package` of the program, relative to the folder")
	quiet := flag.Bool("quiet", false, "show no progress")
	flag.Parse()
	s.Flags = flag.Args()
	if s.Out == "" {
		fmt.Fprintln(os.Stderr, "build: -o is missing: name the path of the program")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	bar := progress.New(os.Stderr, *quiet)
	err := gobuild.Build(ctx, s, func(p gobuild.Progress) { bar.Show(p.What(), int64(p.Done), int64(p.Total)) })
	bar.Close()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}
