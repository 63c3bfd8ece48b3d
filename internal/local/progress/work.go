package progress

import (
	"bytes"
	"io"
	"math"
	"sync/atomic"
	"time"
)

// Lines returns a writer to w that shows how many lines have been written. A terminal that is written to shows the lines themselves,
// and no progress besides.
func (b *Bar) Lines(w io.Writer, what string) io.Writer {
	if isTerminal(w) {
		return w
	}
	return &lines{bar: b, to: w, what: what}
}

// lines counts what is written.
type lines struct {
	bar  *Bar
	to   io.Writer
	what string
	n    atomic.Int64
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	l.bar.Show(l.what, l.n.Add(int64(bytes.Count(p[:n], []byte{'\n'}))), 0)
	return n, err
}

// During shows how many seconds of work that lasts so long have passed, until stop is called. A duration of 0 is unknown. Work that takes
// longer stays at its end.
func (b *Bar) During(what string, lasts time.Duration) (stop func()) {
	began, total := b.clock.Now(), int64(math.Ceil(lasts.Seconds()))
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			done := int64(b.clock.Now().Sub(began).Seconds())
			if total > 0 {
				done = min(done, total)
			}
			b.Show(what, done, total)
		}
	}()
	return func() {
		close(ended)
		<-left
	}
}
