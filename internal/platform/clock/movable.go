//go:build movableclock

package clock

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// movedBy is how far the process's clock is ahead of the machine's, in nanoseconds.
var movedBy atomic.Int64

// A build with the tag movableclock, which no release has, lets make chaos move the clock of a running process: the file that
// COUNTERSIGN_MOVED_CLOCK names has the seconds by which the clock is ahead, and is read every 100 ms.
func init() {
	path := os.Getenv("COUNTERSIGN_MOVED_CLOCK")
	if path == "" {
		return
	}
	read := func() {
		text, _ := os.ReadFile(path) // without a file the clock stays
		if seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			movedBy.Store(int64(time.Duration(seconds) * time.Second))
		}
	}
	read()
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			read()
		}
	}()
}

// machine returns the machine's time, moved.
func machine() time.Time { return time.Now().Add(time.Duration(movedBy.Load())) }
