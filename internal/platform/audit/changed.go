package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// logged is the last state of a row in the log.
type logged struct {
	pg.Row
	event string
}

// rows compares each row that decides what the service allows with its last state in the log, both ways, and each with its MAC.
func (r *reconciliation) rows(ctx context.Context) error {
	log, err := changedRowsOf(ctx, r.q, r.scope)
	if err != nil {
		return err
	}
	err = pg.RecordedRows(ctx, r.q, r.scope, func(row pg.Row) {
		r.state.Rows++
		last, known := log.take(row)
		if f, wrong := last.compare(row, known); wrong {
			r.found(f)
		}
	})
	if err != nil {
		return err
	}
	r.progress("rows", r.state.Rows)
	for _, last := range log {
		if last.Digest != "" {
			r.found(last.missing())
		}
	}
	altered, err := pg.AlteredIn(ctx, r.q, r.scope)
	if err != nil {
		return err
	}
	r.altered(altered)
	return r.endings(ctx)
}

// endings finds rows that are earlier copies, of those that are not compared with the log, and endings that the service did not store.
func (r *reconciliation) endings(ctx context.Context) error {
	altered, err := pg.ReadPages(ctx, r.q, func(page []models.Ending) error {
		r.state.Rows += int64(len(page))
		return nil
	}, pg.InScope, r.scope.Tenant, r.scope.Environment)
	if err != nil {
		return err
	}
	r.altered(altered)
	copies, err := pg.PutBack(ctx, r.q, r.scope)
	for _, row := range copies {
		r.found(Finding{Kind: Contradicted, Target: row.ID, Field: row.Table, Detail: row.Table + ": the stored row is an earlier copy: it has ended"})
	}
	return err
}

// entries compares the entries of each list with the sum that its row has, and each with its MAC.
func (r *reconciliation) entries(ctx context.Context) error {
	lists, err := listsOf(ctx, r.q, r.scope)
	if err != nil {
		return err
	}
	for _, l := range lists {
		sum := make([]byte, sha256.Size)
		altered, err := pg.ReadPages(ctx, r.q, func(page []models.ListEntry) (err error) {
			r.state.Rows += int64(len(page))
			sum, err = pg.AddToSetDigest(ctx, r.q, sum, page, nil)
			return err
		}, "environment_id = ? and list_id = ?", l.EnvironmentID, l.ID)
		if err != nil {
			return err
		}
		if !bytes.Equal(sum, l.EntriesSum) {
			r.found(Finding{Kind: Contradicted, Target: l.ID, Field: "list_entries", Wanted: hex.EncodeToString(l.EntriesSum), Found: hex.EncodeToString(sum),
				Detail: "list_entries: the list does not have the entries that its changes left"})
		}
		r.altered(altered)
	}
	return nil
}

// altered adds the findings about rows that do not match their MAC.
func (r *reconciliation) altered(rows []*pg.Altered) {
	for _, a := range rows {
		r.found(Finding{Kind: Contradicted, Target: a.ID, Field: a.Table + ".row_mac", Detail: a.Error()})
	}
}

// compare returns the finding about a stored row whose last state in the log is this one, known unless there is none.
func (l logged) compare(row pg.Row, known bool) (f Finding, wrong bool) {
	f = Finding{Event: l.event, Target: row.ID, Field: row.Table, Wanted: l.Digest, Found: row.Digest}
	if !known || l.Digest == "" {
		f.Kind, f.Detail = Unsupported, row.Table+": a row is stored that no entry of the log left"
		return f, true
	}
	f.Kind, f.Detail = Contradicted, row.Table+": the stored row is not as the log left it"
	return f, l.Digest != row.Digest
}

// missing is the finding about a row that is not stored.
func (l logged) missing() Finding {
	return Finding{Kind: Missing, Event: l.event, Target: l.ID, Field: l.Table, Wanted: l.Digest, Detail: l.Table + ": the row is in the log and stored no more"}
}

// changedRows are the last states of rows in the log, by table and id.
type changedRows map[[2]string]logged

// apply updates the states with an entry.
func (c changedRows) apply(event string, data models.JSON) error {
	var changed events.RecordsChangedData
	if err := json.Unmarshal(data, &changed); err != nil {
		return err
	}
	for _, line := range changed.Records {
		row := events.ChangedRow(line)
		c[[2]string{row.Table, row.ID}] = logged{row, event}
	}
	return nil
}

// take removes and returns the state of a row.
func (c changedRows) take(row pg.Row) (last logged, known bool) {
	key := [2]string{row.Table, row.ID}
	last, known = c[key]
	delete(c, key)
	return last, known
}
