package events

import (
	"cmp"
	"context"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// deletedRow stands for the digest of a row that was deleted.
const deletedRow = "deleted"

// RecordChanged appends the states of rows that the transaction changed (pg.Record), by whom the last event of the transaction names. Those
// of a subject are an entry of its own, which is erased with the subject.
func RecordChanged(ctx context.Context, q *pg.Q, rows []pg.Row) error {
	from, err := lastOf(ctx, q)
	if err != nil {
		return err
	}
	type owner struct {
		scope   pg.Scope
		subject string
	}
	records, owners := map[owner][]string{}, []owner(nil)
	for _, r := range rows {
		o := owner{r.Scope, r.Subject}
		if records[o] == nil {
			owners = append(owners, o)
		}
		records[o] = append(records[o], r.Table+" "+r.ID+" "+cmp.Or(r.Digest, deletedRow))
	}
	for _, o := range owners { // entries of one transaction have an order
		if err := Append(ctx, q, Entry{
			Scope: o.scope, At: from.At, SubjectUID: o.subject, Actor: from.Actor, RequestID: word(from.RequestID),
			WorkflowID: word(from.WorkflowID), Data: RecordsChangedData{Records: records[o]},
		}); err != nil {
			return err
		}
	}
	return nil
}

// word is the inverse of optional.
func word(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// ChangedRow reads a line of RecordsChangedData.
func ChangedRow(line string) pg.Row {
	table, rest, _ := strings.Cut(line, " ")
	i := strings.LastIndexByte(rest, ' ')
	r := pg.Row{Table: table, ID: rest[:max(i, 0)], Digest: rest[i+1:]}
	if r.Digest == deletedRow {
		r.Digest = ""
	}
	return r
}
