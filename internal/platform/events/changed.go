package events

import (
	"cmp"
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

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
		records[o] = append(records[o], changedLine(r))
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

// QueueChanged adds to a batch what RecordChanged appends for rows that the batch inserts, by whom the entry names.
func QueueChanged(b *pgx.Batch, from Entry, rows ...pg.Row) error {
	for _, r := range rows {
		e := Entry{
			Scope: r.Scope, At: from.At, SubjectUID: r.Subject, Actor: from.Actor, RequestID: from.RequestID, WorkflowID: from.WorkflowID,
			Data: RecordsChangedData{Records: []string{changedLine(r)}},
		}
		if err := Queue(b, e, pg.Causes{}); err != nil {
			return err
		}
	}
	return nil
}

func changedLine(r pg.Row) string { return r.Table + " " + r.ID + " " + cmp.Or(r.Digest, deletedRow) }

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
