package listexport

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
)

// Format is the format of a file.
type Format string

// The formats. A CSV file begins with the names of its columns; each line of JSON Lines is an object.
const (
	CSV       Format = "csv"
	JSONLines Format = "jsonl"
)

// MediaType returns the value of Content-Type.
func (f Format) MediaType() string {
	if f == CSV {
		return "text/csv; charset=utf-8; header=present"
	}
	return "application/x-ndjson"
}

// Trailer is the last line of a complete file of JSON Lines. A file without it is incomplete. CSV has no such line: an
// incomplete CSV file ends with a record that begins with Incomplete, and in an aborted response.
type Trailer struct {
	Export   string `json:"export"` // complete or incomplete
	Rows     int64  `json:"rows"`
	Finished string `json:"finished_at"`
}

// Incomplete is the first cell of the last record of a CSV file that broke off.
const Incomplete = "EXPORT INCOMPLETE"

// writer writes the rows of one file.
type writer struct {
	columns []string
	out     *bufio.Writer
	csv     *csv.Writer // nil for JSON Lines
	names   []string    // the columns as JSON keys with their colons
	rows    int64
}

// newWriter writes the header of the format, if it has one.
func newWriter(w io.Writer, f Format, columns []string) (*writer, error) {
	out := &writer{columns: columns, out: bufio.NewWriterSize(w, 32<<10)}
	if f == CSV {
		out.csv = csv.NewWriter(out.out)
		out.csv.UseCRLF = true // RFC 4180
		return out, out.csv.Write(columns)
	}
	for _, c := range columns {
		name, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		out.names = append(out.names, string(name)+":")
	}
	return out, nil
}

// row writes one row, with one value for each column.
func (w *writer) row(values []any) error {
	if len(values) != len(w.columns) {
		return fmt.Errorf("export: a row has %d values for %d columns", len(values), len(w.columns))
	}
	w.rows++
	if w.csv != nil {
		cells := make([]string, len(values))
		for i, v := range values {
			cells[i] = cell(v)
		}
		return w.csv.Write(cells)
	}
	for i, v := range values {
		mark := ","
		if i == 0 {
			mark = "{"
		}
		text, err := encoded(v)
		if err != nil {
			return err
		}
		_, _ = w.out.WriteString(mark + w.names[i])
		_, _ = w.out.Write(text) // bufio returns the first error of all writes
	}
	_, err := w.out.WriteString("}\n")
	return err
}

// end writes what marks the file as complete.
func (w *writer) end(now time.Time) error {
	if w.csv == nil {
		if err := w.trailer("complete", now); err != nil {
			return err
		}
	}
	return w.flush()
}

// breakOff writes what marks the file as incomplete.
func (w *writer) breakOff(now time.Time) {
	if w.csv == nil {
		_ = w.trailer("incomplete", now)
	} else {
		last := make([]string, len(w.columns)) // as long as every other record
		last[0] = Incomplete + " after " + strconv.FormatInt(w.rows, 10) + " rows"
		_ = w.csv.Write(last)
	}
	_ = w.flush() // the response is aborted as well
}

func (w *writer) trailer(export string, now time.Time) error {
	raw, err := json.Marshal(Trailer{export, w.rows, apitime.Time(now)})
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(raw, '\n'))
	return err
}

func (w *writer) flush() error {
	if w.csv != nil {
		w.csv.Flush()
		if err := w.csv.Error(); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

// plain turns pointers into their values, nil for none, and times into ISO 8601 in UTC.
func plain(v any) any {
	switch v := v.(type) {
	case time.Time:
		return apitime.Time(v)
	case *time.Time:
		if v == nil {
			return nil
		}
		return apitime.Time(*v)
	case *string:
		if v == nil {
			return nil
		}
		return *v
	case *int:
		if v == nil {
			return nil
		}
		return *v
	default:
		return v
	}
}

func encoded(v any) ([]byte, error) {
	if list, ok := v.([]string); ok && list == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(plain(v))
}

// cell returns the text of a value in CSV. Only texts can be formulas: numbers of an export are counts.
func cell(v any) string {
	switch v := plain(v).(type) {
	case nil:
		return ""
	case string:
		return Guarded(v)
	case []string:
		return Guarded(strings.Join(v, " "))
	default:
		return fmt.Sprint(v)
	}
}

// formulaStarts begin a formula in a spreadsheet (OWASP, CSV injection), the full-width forms included.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// A spreadsheet whose language has other separators than the comma begins a cell in the middle of a text, whatever is quoted there.
var (
	formulaInside = regexp.MustCompile(`([;\t\r\n][ "]*)('*[=+\-@＝＋－＠])`)
	guardedInside = regexp.MustCompile(`([;\t\r\n][ "]*)'('*[=+\-@＝＋－＠])`)
)

// isFormula reports whether a cell that begins with the text would be executed, or is one that is guarded already: Guarded guards both, so that
// Unguarded returns every text as it was.
func isFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	return text != "" && strings.ContainsRune(formulaStarts, []rune(text)[0])
}

// Guarded puts an apostrophe before what a spreadsheet would execute of a text.
func Guarded(text string) string {
	text = formulaInside.ReplaceAllString(text, "$1'$2")
	if isFormula(text) {
		return "'" + text
	}
	return text
}

// Unguarded returns a text without the apostrophes that Guarded put into it.
func Unguarded(text string) string {
	if rest, ok := strings.CutPrefix(text, "'"); ok && isFormula(rest) {
		text = rest
	}
	return guardedInside.ReplaceAllString(text, "$1$2")
}
