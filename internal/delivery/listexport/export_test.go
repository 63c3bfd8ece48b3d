package listexport_test

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

type bundle struct {
	*fixture.World
	*listexport.Service
	by identity.Principal
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{World: fixture.New(t, testenv.Store(t), now)}
	b.Service = listexport.New(b.Store, clock.NewFake(now), slog.New(slog.DiscardHandler))
	b.by = identity.Principal{TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment, Person: "prs_ann", RequestID: "req_1"}
	return b
}

// ended returns the data of the audit entries of exports that ended.
func (b *bundle) ended(t *testing.T) (out []events.ListExportEndedData) {
	t.Helper()
	rows, _, err := events.QueryActivity(t.Context(), b.Store.Q, b.Scope, events.ActivityFilter{Types: []string{string(events.ListExportEnded)}}, pg.Page{Limit: 10})
	require.NoError(t, err)
	for _, row := range rows {
		require.Equal(t, "person:prs_ann", row.Actor)
		require.Equal(t, "req_1", *row.RequestID)
		var d events.ListExportEndedData
		require.NoError(t, json.Unmarshal(row.Data, &d))
		out = append(out, d)
	}
	return out
}

// of returns a list of the rows, two of them on a page.
func of(rows ...[]any) listexport.List {
	const page = 2
	return listexport.List{Name: "things", Columns: []string{"name", "at", "count", "codes"}, Filters: []string{"decision=deny", "q"},
		Source: func(_ context.Context, cursor string) ([][]any, string, error) {
			from, _ := strconv.Atoi(cursor)
			to := min(from+page, len(rows))
			if to == len(rows) {
				return rows[from:to], "", nil
			}
			return rows[from:to], strconv.Itoa(to), nil
		}}
}

var east = time.FixedZone("east", 2*3600)

func some() listexport.List {
	at, none := time.Date(2026, 3, 1, 14, 30, 0, 0, east), (*time.Time)(nil)
	return of([]any{"=1+1", at, 3, []string{"a", "b"}}, []any{`quote " and, comma`, &at, 0, []string(nil)}, []any{"", none, 7, []string{"-x"}})
}

func TestExportWritesBothFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[listexport.Format]string{
		listexport.CSV: "name,at,count,codes\r\n'=1+1,2026-03-01T12:30:00.000Z,3,a b\r\n" +
			"\"quote \"\" and, comma\",2026-03-01T12:30:00.000Z,0,\r\n,,7,'-x\r\n",
		listexport.JSONLines: `{"name":"=1+1","at":"2026-03-01T12:30:00.000Z","count":3,"codes":["a","b"]}` + "\n" +
			`{"name":"quote \" and, comma","at":"2026-03-01T12:30:00.000Z","count":0,"codes":[]}` + "\n" +
			`{"name":"","at":null,"count":7,"codes":["-x"]}` + "\n" +
			`{"export":"complete","rows":3,"finished_at":"2026-03-01T09:00:00.000Z"}` + "\n",
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			file, err := b.Open(t.Context(), b.by, some(), format)
			require.NoError(t, err)
			text, err := io.ReadAll(file)
			require.NoError(t, err)
			require.Equal(t, want, string(text))
			require.Equal(t, []events.ListExportEndedData{{List: "things", Format: string(format), Filters: []string{"decision=deny", "q"}, Rows: 3, Complete: true}}, b.ended(t))
		})
	}
}

// No cell of a CSV file begins as a formula does (OWASP, CSV injection). JSON Lines has the text as it is.
func TestExportGuardsFormulas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, start := range []string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"} {
		t.Run(strconv.Quote(start), func(t *testing.T) {
			text := start + `cmd|' /C calc'!A0`
			file, err := b.Open(t.Context(), b.by, of([]any{text, nil, 1, []string{}}), listexport.CSV)
			require.NoError(t, err)
			records, err := csv.NewReader(file).ReadAll()
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(records[1][0], "'"), records[1][0])
			_, err = io.Copy(io.Discard, file)
			require.NoError(t, err)
		})
	}
}

// Nor does a part of a cell, for a spreadsheet that separates cells by a semicolon or a tab.
func TestExportGuardsFormulasBehindSeparators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, text := range []string{"x;=1+1", "x\t=1+1", "x; =1+1;y", `x";"=1+1`, "x\r\n=1+1", "=1;@2", "x;;＝1", "\t=1+1", "'=1", "''=1", "';=1", "x;'=1", "x;''=1;'@2", "'s-Hertogenbosch", "'", "''", "'\t'=1", "'＋1"} {
		t.Run(strconv.Quote(text), func(t *testing.T) {
			file, err := b.Open(t.Context(), b.by, of([]any{"before", nil, 1, []string{}}, []any{text, nil, 1, []string{text}}), listexport.CSV)
			require.NoError(t, err)
			raw, err := io.ReadAll(file)
			require.NoError(t, err)
			for _, cell := range strings.FieldsFunc(string(raw), func(r rune) bool { return strings.ContainsRune(";\t\r\n", r) }) {
				cell = strings.TrimLeft(cell, ` "`)
				require.False(t, cell != "" && strings.ContainsAny(cell[:1], "=+-@＝"), "%q in %q", cell, raw)
			}
			require.Equal(t, text, listexport.Unguarded(listexport.Guarded(text)))
		})
	}
}

// A list that fails in the middle ends with a mark and an error, and the audit log says that it is incomplete.
func TestExportThatBreaksOffIsRecognisable(t *testing.T) {
	t.Parallel()
	fails := errors.New("the database is gone")
	for format, want := range map[listexport.Format]string{
		listexport.CSV:       "EXPORT INCOMPLETE after 2 rows,,,\r\n",
		listexport.JSONLines: `{"export":"incomplete","rows":2,"finished_at":"2026-03-01T09:00:00.000Z"}` + "\n",
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			b, list := setup(t), some()
			whole := list.Source
			list.Source = func(ctx context.Context, cursor string) ([][]any, string, error) {
				if cursor != "" {
					return nil, "", fails
				}
				return whole(ctx, cursor)
			}
			file, err := b.Open(t.Context(), b.by, list, format)
			require.NoError(t, err)
			text, err := io.ReadAll(file)
			require.ErrorIs(t, err, fails)
			require.True(t, strings.HasSuffix(string(text), want), string(text))
			ended := b.ended(t)
			require.Len(t, ended, 1)
			require.False(t, ended[0].Complete)
			require.Equal(t, int64(2), ended[0].Rows)
		})
	}
	t.Run("at the first page", func(t *testing.T) {
		t.Parallel()
		b, list := setup(t), some()
		list.Source = func(context.Context, string) ([][]any, string, error) { return nil, "", fails }
		_, err := b.Open(t.Context(), b.by, list, listexport.CSV)
		require.ErrorIs(t, err, fails)
		require.Empty(t, b.ended(t), "nothing was exported")
	})
}

func TestExportsAreLimitedAndEndWithTheirReader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	open := make([]io.ReadCloser, listexport.MaxExports)
	for i := range open {
		var err error
		open[i], err = b.Open(t.Context(), b.by, some(), listexport.CSV)
		require.NoError(t, err)
	}
	_, err := b.Open(t.Context(), b.by, some(), listexport.CSV)
	require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	for _, file := range open {
		require.NoError(t, file.Close())
	}
	require.Eventually(t, func() bool {
		file, err := b.Open(t.Context(), b.by, some(), listexport.CSV)
		return err == nil && file.Close() == nil
	}, time.Minute, 10*time.Millisecond, "a closed export gives its slot back")
	require.Eventually(t, func() bool { return len(b.ended(t)) > 0 && !b.ended(t)[0].Complete }, time.Minute, 10*time.Millisecond)
}

// The memory of an export does not depend on its length.
func TestExportOfALongListNeedsLittleMemory(t *testing.T) {
	b := setup(t)
	const rows, most = 100_000, 16 << 20 // bytes
	b.ManyEvents(rows)
	list := listexport.List{Name: "events", Columns: []string{"id", "at", "data"}, Source: func(ctx context.Context, cursor string) ([][]any, string, error) {
		found, next, err := events.QueryActivity(ctx, b.Store.Q, b.Scope, events.ActivityFilter{Types: []string{string(events.SubjectCreated)}}, pg.Page{Limit: listexport.Batch, After: cursor})
		out := make([][]any, len(found))
		for i, e := range found {
			out[i] = []any{e.ID, e.At, string(e.Data)}
		}
		return out, next, err
	}}
	before := inUse()
	file, err := b.Open(t.Context(), b.by, list, listexport.JSONLines)
	require.NoError(t, err)
	lines, read := bufio.NewScanner(file), 0
	previous := ""
	for lines.Scan() {
		if read++; read%10_000 == 0 {
			require.Less(t, inUse()-before, int64(most), "after %d rows", read)
		}
		require.NotEqual(t, previous, lines.Text())
		previous = lines.Text()
	}
	require.NoError(t, lines.Err())
	require.Equal(t, rows+1, read, "with the trailer")
	require.Contains(t, previous, `"rows":100000`)
}

// inUse returns the bytes of the heap that are reachable.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
