package recordings

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// ErrFormat is returned for a file whose content does not have the format of its
// name.
var ErrFormat = errors.New("recordings: unexpected format")

// maxBytes bounds the unpacked size of one file: a small archive must not fill the
// disk or the memory.
const maxBytes = 4 << 30

// KeySession is one session of typing of one person. Label and Split are set in
// automation sets only.
type KeySession struct {
	Label, Split  string // of automation sets
	User, Session string
	Events        []features.KeyEvent
}

// PointerSession is one session of pointer use of one person or program. Label is
// human, bot or empty.
type PointerSession struct {
	Label, Split  string
	User, Session string
	Events        []features.PointerEvent
}

// VectorRow is one repetition of a fixed text.
type VectorRow struct {
	User, Session string
	Rep           int
	Values        []float64 // ms, in the order of VectorSet.Features
}

// VectorSet is a set of repetitions of one fixed text.
type VectorSet struct {
	Features []string
	Rows     []VectorRow
}

// Digest is the hex SHA-256 of a file. A model card names the files that a
// background was learned from by it.
func Digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("recordings: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("recordings: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// rows calls each for every record of a gzip CSV file. header maps column names to
// positions and has at least the columns of needs. The record is valid until the
// call returns.
func rows(path string, needs []string, each func(header map[string]int, record []string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("recordings: %w", err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrFormat, path, err)
	}
	return readCSV(path, io.LimitReader(zip, maxBytes), needs, each)
}

// readCSV is rows for an unpacked file. Its errors name the line.
func readCSV(path string, from io.Reader, needs []string, each func(header map[string]int, record []string) error) error {
	r := csv.NewReader(from)
	r.ReuseRecord = true
	first, err := r.Read()
	if err != nil {
		return fmt.Errorf("%w: %s: header: %w", ErrFormat, path, err)
	}
	header := map[string]int{}
	for i, name := range first {
		header[string(bytes.TrimSpace([]byte(name)))] = i
	}
	for _, name := range needs {
		if _, ok := header[name]; !ok {
			return fmt.Errorf("%w: %s: no column %q in the header %v", ErrFormat, path, name, first)
		}
	}
	for line := 2; ; line++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(header, record)
		}
		if err != nil {
			return fmt.Errorf("%w: %s line %d: %w", ErrFormat, path, line, err)
		}
	}
}

// column returns the value of a column; empty if the file does not have the column.
func column(header map[string]int, record []string, name string) string {
	if i, ok := header[name]; ok && i < len(record) {
		return record[i]
	}
	return ""
}

// number parses the value of a column.
func number(header map[string]int, record []string, name string) (float64, error) {
	v, err := strconv.ParseFloat(column(header, record, name), 64)
	if err != nil {
		return 0, fmt.Errorf("column %s: %w", name, err)
	}
	return v, nil
}

// clone copies a string, because the CSV reader reuses its buffer for the next
// record.
func clone(s string) string { return string([]byte(s)) }

// ReadKeystrokes reads the columns user,session,key,press_ms,release_ms. Sessions
// are in the order of the file, events in the order of their press. Errors wrap
// ErrFormat.
func ReadKeystrokes(path string) ([]KeySession, error) {
	var out []KeySession
	at := map[[3]string]int{}
	err := rows(path, []string{"user", "session", "key", "press_ms", "release_ms"}, func(h map[string]int, rec []string) error {
		press, err := number(h, rec, "press_ms")
		if err != nil {
			return err
		}
		release, err := number(h, rec, "release_ms")
		if err != nil {
			return err
		}
		id := [3]string{column(h, rec, "label"), column(h, rec, "user"), column(h, rec, "session")}
		i, ok := at[id]
		if !ok {
			i = len(out)
			at[[3]string{clone(id[0]), clone(id[1]), clone(id[2])}] = i
			out = append(out, KeySession{Label: clone(id[0]), Split: clone(column(h, rec, "split")), User: clone(id[1]), Session: clone(id[2])})
		}
		out[i].Events = append(out[i].Events, features.KeyEvent{Key: clone(column(h, rec, "key")), Press: press, Release: release})
		return nil
	})
	for _, s := range out {
		sort.SliceStable(s.Events, func(i, j int) bool { return s.Events[i].Press < s.Events[j].Press })
	}
	return out, err
}

// pointerKinds are the values of the column event.
var pointerKinds = map[string]features.PointerKind{
	"move": features.PointerMove, "drag": features.PointerDrag, "press": features.PointerPress, "release": features.PointerRelease,
}

// ReadPointer reads the columns [label,split,]user,session,t_ms,event,button,x,y.
// Sessions are in the order of the file, events in the order of time. Errors wrap
// ErrFormat.
func ReadPointer(path string) ([]PointerSession, error) {
	var out []PointerSession
	at := map[[4]string]int{}
	err := rows(path, []string{"user", "session", "t_ms", "event", "x", "y"}, func(h map[string]int, rec []string) error {
		var v [3]float64
		for i, name := range []string{"t_ms", "x", "y"} {
			var err error
			if v[i], err = number(h, rec, name); err != nil {
				return err
			}
		}
		kind, ok := pointerKinds[column(h, rec, "event")]
		if !ok {
			return fmt.Errorf("event must be move, drag, press or release")
		}
		id := [4]string{column(h, rec, "label"), column(h, rec, "split"), column(h, rec, "user"), column(h, rec, "session")}
		i, ok := at[id]
		if !ok {
			i = len(out)
			for k := range id {
				id[k] = clone(id[k])
			}
			at[id] = i
			out = append(out, PointerSession{Label: id[0], Split: id[1], User: id[2], Session: id[3]})
		}
		out[i].Events = append(out[i].Events, features.PointerEvent{T: v[0], X: v[1], Y: v[2], Kind: kind, Right: column(h, rec, "button") == "right"})
		return nil
	})
	for _, s := range out {
		sort.SliceStable(s.Events, func(i, j int) bool { return s.Events[i].T < s.Events[j].T })
	}
	return out, err
}

// ReadVectors reads the columns user,session,rep and one for each feature, in
// milliseconds. Rows are in the order of the file. Errors wrap ErrFormat.
func ReadVectors(path string) (VectorSet, error) {
	var out VectorSet
	var columns []int
	err := rows(path, []string{"user"}, func(h map[string]int, rec []string) error {
		if columns == nil {
			columns, out.Features = featureColumns(h, len(rec))
		}
		rep, err := strconv.Atoi(column(h, rec, "rep"))
		if err != nil {
			return fmt.Errorf("column rep: %w", err)
		}
		row := VectorRow{User: clone(column(h, rec, "user")), Session: clone(column(h, rec, "session")), Rep: rep}
		for _, c := range columns {
			v, err := strconv.ParseFloat(rec[c], 64)
			if err != nil {
				return err
			}
			row.Values = append(row.Values, v)
		}
		out.Rows = append(out.Rows, row)
		return nil
	})
	return out, err
}

// featureColumns returns the positions and names of the columns that are features,
// in the order of the file.
func featureColumns(h map[string]int, n int) ([]int, []string) {
	names := make([]string, n)
	for name, i := range h {
		names[i] = name
	}
	var columns []int
	var kept []string
	for i, name := range names {
		if name != "user" && name != "session" && name != "rep" && name != "label" && name != "split" {
			columns, kept = append(columns, i), append(kept, name)
		}
	}
	return columns, kept
}
