package localpg

import (
	"context"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// Installation has the parts with which a different manager of Postgres, such as Patroni, runs it on this machine.
type Installation struct {
	Bin  string           // the folder of the programs
	Dir  string           // a folder that User may use
	User *subprocess.User // nil: the current user
}

// Locate finds Postgres, and installs it if that is possible, and prepares a folder for the user that it runs as. The folder
// differs from dir if that user cannot enter dir.
func Locate(ctx context.Context, dir string, say func(format string, args ...any)) (Installation, error) {
	c := &cluster{Options: Options{Dir: dir, Say: say}}
	if err := c.locate(ctx); err != nil {
		return Installation{}, err
	}
	return Installation{Bin: c.bin.dir, Dir: c.dir, User: c.user}, nil
}
