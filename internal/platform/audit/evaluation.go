package audit

import (
	"context"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// evaluations compares each evaluation with the entries that created and closed it, both ways.
func (r *reconciliation) evaluations(ctx context.Context) error {
	rows, entries, err := evaluationRecords(ctx, r.q, r.scope)
	if err != nil {
		return err
	}
	created, closed := map[string]*models.Event{}, map[string]*models.Event{}
	for i, e := range entries {
		of := created
		if events.Type(e.Type) == events.EvaluationClosed {
			of = closed
		}
		of[factsOf(&e).text("evaluation")] = &entries[i]
	}
	for _, row := range rows {
		for _, f := range evaluationContradictions(row, created[row.ID], closed[row.ID]) {
			r.found(f)
		}
		delete(created, row.ID)
	}
	for id, e := range created {
		r.found(Finding{Kind: Missing, Event: e.ID, Target: id, Field: "evaluations", Detail: "the evaluation is in the log and stored no more"})
	}
	return nil
}

func evaluationContradictions(row models.Evaluation, created, closed *models.Event) []Finding {
	c := &comparison{target: row.ID}
	if created == nil {
		c.add(Unsupported, "evaluations", "", row.ID, "an evaluation is stored that no entry of the log created")
		return c.findings
	}
	c.event = created.ID
	c.made("evaluations", "evaluations", created, func() (string, error) { return pg.RecordDigest(row) })
	status, report := models.EvaluationOpen, ""
	if closed != nil {
		status = models.EvaluationClosed
	}
	if row.Report != nil {
		report = canonical.DigestBytes(row.Report)
	}
	c.same("evaluations.status", string(status), string(row.Status))
	c.at("evaluations.closed_at", atOf(closed), row.ClosedAt)
	c.same("evaluations.report", factsOf(closed).text("report_digest"), report)
	return c.findings
}
