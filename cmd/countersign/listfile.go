package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/models"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// The formats of files of entries, by the ends of their names.
const (
	csvFile   = "csv"
	linesFile = "jsonl"
)

// Bounds of a file of entries.
const (
	maxEntriesFile = 256 << 20 // bytes
	maxEntryFaults = 100       // that are printed
)

// entryColumns are the columns of a file of entries. An import takes the first three and ignores the others, which an export has.
var entryColumns = []string{"value", "reason", "expires_at", "id", "added_at", "added_by"}

// entryLine is one line of a file of entries.
type entryLine struct {
	number int
	fields map[string]string
	fault  string // why it cannot be read; empty if it can
}

// loadEntries reads a file of entries for a list of a kind. An error names every line that the list cannot have.
func loadEntries(name, kind string, now time.Time) ([]countersign.NamedListAdded, error) {
	file, err := os.Open(name) // #nosec G304 -- the operator's file
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(io.LimitReader(file, maxEntriesFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxEntriesFile:
		return nil, fmt.Errorf("the file has more than %d bytes", maxEntriesFile)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	switch strings.TrimPrefix(filepath.Ext(name), ".") {
	case csvFile:
		return checkEntries(csvLines(raw), models.ListKind(kind), now)
	case linesFile:
		return checkEntries(jsonLines(raw), models.ListKind(kind), now)
	default:
		return nil, errors.New("the name of the file must end in .csv or .jsonl")
	}
}

// checkEntries returns the entries of lines, or an error with all lines that are wrong.
func checkEntries(from iter.Seq[entryLine], kind models.ListKind, now time.Time) ([]countersign.NamedListAdded, error) {
	var out []countersign.NamedListAdded
	var faults []error
	first, wrong := map[string]int{}, 0
	for l := range from {
		entry, why := l.entry(kind, now)
		if other, twice := first[canonical.Normal(entry.Value)]; why == "" && twice {
			why = fmt.Sprintf("value is that of line %d; case and white space make no difference", other)
		}
		if why != "" {
			if wrong++; wrong <= maxEntryFaults {
				faults = append(faults, fmt.Errorf("line %d: %s", l.number, why))
			}
			continue
		}
		first[canonical.Normal(entry.Value)] = l.number
		if out = append(out, entry); len(out) > lists.MaxEntries {
			return nil, fmt.Errorf("line %d: the file has more than %d entries, the most of a list", l.number, lists.MaxEntries)
		}
	}
	if more := wrong - len(faults); more > 0 {
		faults = append(faults, fmt.Errorf("and %d more lines", more))
	}
	return out, errors.Join(faults...)
}

// entry returns the entry of a line, or why the list cannot have it.
func (l entryLine) entry(kind models.ListKind, now time.Time) (out countersign.NamedListAdded, why string) {
	if l.fault != "" {
		return out, l.fault
	}
	out = countersign.NamedListAdded{Value: l.fields["value"], Reason: l.fields["reason"]}
	if text := l.fields["expires_at"]; text != "" {
		at, err := apitime.Parse(text)
		if err != nil {
			return out, "expires_at " + err.Error()
		}
		out.ExpiresAt = &at
	}
	_, why = lists.NewEntry{Value: out.Value, Reason: out.Reason, ExpiresAt: out.ExpiresAt}.Fault(kind, now)
	return out, why
}

func csvLines(raw []byte) iter.Seq[entryLine] {
	return func(yield func(entryLine) bool) {
		r := csv.NewReader(bytes.NewReader(raw))
		header, err := r.Read()
		if err == nil && !utf8.ValidString(strings.Join(header, "")) {
			err = errors.New("the file is not UTF-8: save it as UTF-8, which spreadsheets call CSV UTF-8")
		}
		if err == nil && (!slices.Contains(header, "value") || !slices.Contains(header, "reason")) {
			err = errors.New("the first line must name the columns, value and reason among them")
		}
		if err != nil {
			yield(entryLine{number: 1, fault: err.Error()})
			return
		}
		for i, name := range header {
			if !slices.Contains(entryColumns, name) || slices.Contains(header[:i], name) {
				yield(entryLine{number: 1, fault: fmt.Sprintf("column %q is unknown or there twice; the columns are %s", name, strings.Join(entryColumns, ", "))})
				return
			}
		}
		for {
			row, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			l := entryLine{fields: map[string]string{}}
			var fault *csv.ParseError
			if errors.As(err, &fault) {
				l.number, l.fault = fault.StartLine, fault.Err.Error()
			} else {
				l.number, _ = r.FieldPos(0)
				for i, text := range row {
					if l.fields[header[i]] = listexport.Unguarded(text); !utf8.ValidString(text) {
						l.fault = header[i] + " is not UTF-8: save the file as UTF-8, which spreadsheets call CSV UTF-8"
					}
				}
			}
			if !yield(l) {
				return
			}
		}
	}
}

func jsonLines(raw []byte) iter.Seq[entryLine] {
	return func(yield func(entryLine) bool) {
		number := 0
		for text := range bytes.Lines(raw) {
			number++
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			l := entryLine{number: number, fields: map[string]string{}}
			value, err := strictjson.Decode(text, strictjson.Limits{})
			object, is := value.(map[string]any)
			switch {
			case err != nil:
				l.fault = err.Error()
			case !is:
				l.fault = `the line must be an object such as {"value": "DE", "reason": "Known."}`
			case object["export"] != nil: // the last line of an export of the console
				continue
			}
			for name, v := range object {
				text, is := v.(string)
				switch {
				case !slices.Contains(entryColumns, name):
					l.fault = fmt.Sprintf("property %q is unknown; the properties are %s", name, strings.Join(entryColumns, ", "))
				case !is && v != nil:
					l.fault = name + " must be a string"
				}
				l.fields[name] = text
			}
			if !yield(l) {
				return
			}
		}
	}
}

// writeEntries writes entries as a file that an import takes.
func writeEntries(w io.Writer, format string, entries iter.Seq2[countersign.NamedListEntry, error]) error {
	out := bufio.NewWriter(w)
	rows := csv.NewWriter(out)
	if format == csvFile {
		if err := rows.Write(entryColumns); err != nil {
			return err
		}
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		row := []string{e.Value, e.Reason, timeText(e.ExpiresAt), e.ID, apitime.Time(e.AddedAt), e.AddedBy}
		if format == csvFile {
			for i := range row {
				row[i] = listexport.Guarded(row[i])
			}
			if err := rows.Write(row); err != nil {
				return err
			}
			continue
		}
		object := map[string]string{}
		for i, name := range entryColumns {
			if row[i] != "" {
				object[name] = row[i]
			}
		}
		if err := json.NewEncoder(out).Encode(object); err != nil {
			return err
		}
	}
	rows.Flush()
	return errors.Join(rows.Error(), out.Flush())
}
