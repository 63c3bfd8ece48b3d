// Package progress shows how far a long command is: a bar in a terminal, a plain line every ten seconds elsewhere. It writes to one
// writer, standard error as a rule, and never to standard output of a command whose output is data.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/countersign-dev/countersign/internal/platform/clock"
)

const (
	lineEvery = 10 * time.Second       // between plain lines
	drawEvery = 100 * time.Millisecond // between drawings of a bar
	barWidth  = 24                     // characters
)

// Bar shows the progress of one command. Its methods may be called concurrently.
type Bar struct {
	out   io.Writer
	clock clock.Clock
	drawn bool // out is a terminal
	quiet bool

	mu   sync.Mutex
	bar  *progressbar.ProgressBar // nil until something is shown, and without a terminal
	max  int64
	last time.Time // of the last plain line or drawing
}

// New returns a Bar that writes to w. A quiet Bar shows no progress; what is written to it is written to w.
func New(w io.Writer, quiet bool) *Bar { return NewAt(w, quiet, clock.System()) }

// NewAt is New with a clock.
func NewAt(w io.Writer, quiet bool, c clock.Clock) *Bar {
	return &Bar{out: w, clock: c, drawn: isTerminal(w), quiet: quiet, last: c.Now()}
}

// isTerminal reports whether w understands carriage returns: logs of CI and editors' shells (TERM=dumb) do not.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())) // #nosec G115 -- a file descriptor
}

// Show shows that done of total parts of the work are done; a total of 0 is unknown. The work is named in a few words, such as
// "compiling go.temporal.io/server".
func (b *Bar) Show(what string, done, total int64) {
	if b.quiet {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now, every := b.clock.Now(), lineEvery
	if b.drawn {
		every = drawEvery
	}
	if now.Sub(b.last) < every {
		return
	}
	b.last = now
	if b.drawn {
		b.draw(what, done, total)
	} else {
		_, _ = fmt.Fprintln(b.out, line(what, done, total))
	}
}

// line describes the progress without a terminal.
func line(what string, done, total int64) string {
	switch {
	case total > 0:
		return fmt.Sprintf("%3d %% (%d of %d) %s", 100*done/total, done, total, what)
	case done > 0:
		return fmt.Sprintf("%d %s", done, what)
	default:
		return what
	}
}

func (b *Bar) draw(what string, done, total int64) {
	limit := total
	if total <= 0 {
		limit = -1
	}
	// The library decides at construction whether the total is known.
	if b.bar == nil || (b.max < 0) != (limit < 0) {
		b.clear()
		b.bar, b.max = progressbar.NewOptions64(limit,
			progressbar.OptionSetWriter(b.out), progressbar.OptionSetWidth(barWidth), progressbar.OptionShowCount(),
			progressbar.OptionSetDescription(shorten(what)), progressbar.OptionSetPredictTime(limit > 0), progressbar.OptionClearOnFinish()), limit
	}
	if limit != b.max {
		b.bar.ChangeMax64(limit)
		b.max = limit
	}
	_ = b.bar.Set64(done) // a terminal that is gone shows no bar
	b.bar.Describe(shorten(what))
}

// widest is the number of characters of a description beside a bar.
const widest = 44

// shorten keeps the end of a description, which differs between packages of one module.
func shorten(what string) string {
	letters := []rune(what)
	if len(letters) <= widest {
		return fmt.Sprintf("%-*s", widest, what)
	}
	return "…" + string(letters[len(letters)-widest+1:])
}

// Write writes lines of the command above the bar.
func (b *Bar) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	return b.out.Write(p)
}

// Close removes the bar. The Bar may be used again.
func (b *Bar) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
}

func (b *Bar) clear() {
	if b.bar != nil {
		_ = b.bar.Clear() // as in draw
		b.bar = nil
	}
}
