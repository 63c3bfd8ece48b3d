package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a command-line tool: run gets a context that ends with the first signal. An error is printed after name and ends the
// process with exit code 1.
func Main(name string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Flags adds the flags that name the binaries and the folder of the rig.
func (o *Options) Flags(flags *flag.FlagSet, dir string) {
	flags.StringVar(&o.Dir, "dir", dir, "`folder` for the data and logs of the servers; the data is removed at the end")
	flags.StringVar(&o.Binary, "countersign", "bin/countersign", "`path` of the countersign binary")
	flags.StringVar(&o.Devstack, "devstack", "bin/devstack", "`path` of the devstack binary")
}
