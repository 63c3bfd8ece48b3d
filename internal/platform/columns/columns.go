// Package columns aligns the columns of a table for a terminal, by the widths of their characters (UAX 11). It decides nothing about their
// content.
package columns

import (
	"bytes"
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// gap is how many spaces stand between two columns at least.
const gap = 2

// Writer aligns lines whose columns are separated by tabs. Flush writes them.
type Writer struct {
	out  io.Writer
	text bytes.Buffer
}

// New returns a writer to out.
func New(out io.Writer) *Writer { return &Writer{out: out} }

// Write implements io.Writer. It writes nothing to the output yet.
func (w *Writer) Write(p []byte) (int, error) { return w.text.Write(p) }

// Flush writes the lines. The last column of a line has no spaces behind it.
func (w *Writer) Flush() error {
	var rows [][]string
	var widths []int
	for line := range strings.Lines(w.text.String()) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
		rows = append(rows, row)
	}
	w.text.Reset()
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]+gap-uniseg.StringWidth(cell)))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w.out, b.String())
	return err
}
