package evaluations

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

type evaluationRow struct {
	evaluation.View
	URL          string
	Status       show.Tag
	Starts, Ends *show.Stamp
}

func (c *Pages) evaluationRow(v *shell.Visit, e evaluation.View) evaluationRow {
	now := show.Stamps{Now: c.Clock.Now()}
	return evaluationRow{View: e, URL: v.At("evaluations", e.ID), Status: show.Tag{Text: e.Status, Tone: ""}, Starts: now.Text(e.StartsAt), Ends: now.Read(e.EndsAt)}
}

func (c *Pages) evaluations(v *shell.Visit) error {
	rows, paged, err := shell.List(v, "evaluations", shell.ManageEvaluations, func(p pg.Page) ([]evaluation.View, string, error) {
		return c.Evaluations.List(v.Context, v.Scope(), "", p)
	})
	if err != nil {
		return err
	}
	view := struct {
		shell.Paged
		Rows   []evaluationRow
		Export exports.Links
	}{Paged: paged, Export: exports.Of(v, nil, "evaluations")}
	for _, e := range rows {
		view.Rows = append(view.Rows, c.evaluationRow(v, e))
	}
	return v.Page(fiber.StatusOK, "evaluations.html", "Evaluations", "evaluations", view)
}

// chart is a bar chart of counts with their share of the total.
type chart struct {
	Title   string
	Bars    []bar
	Total   int64
	Empty   string
	Height  int
	Summary string
}

type bar struct {
	Label, Tone, Value, Share string
	Y, Width, LabelX          int
}

// barStep is the height of a bar with its gap, barSpace the width of the longest bar, in SVG units.
const barStep, barSpace = 44, 270

func newChart(title, empty string, counts map[string]int64, order ...string) chart {
	c := chart{Title: title, Empty: empty}
	keys := slices.Collect(maps.Keys(counts))
	rank := func(k string) int {
		if i := slices.Index(order, k); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), int(counts[b]-counts[a]), cmp.Compare(a, b))
	})
	most := int64(1)
	for _, n := range counts {
		c.Total += n
		most = max(most, n)
	}
	for i, k := range keys {
		n := counts[k]
		share := ""
		if c.Total > 0 {
			share = strconv.FormatFloat(100*float64(n)/float64(c.Total), 'f', 1, 64) + " %"
		}
		width := int(barSpace * n / most)
		c.Bars = append(c.Bars, bar{
			Label: show.Plain(k), Tone: show.Tone(k), Value: strconv.FormatInt(n, 10), Share: share, Y: i * barStep, Width: max(width, 1), LabelX: 10 + width,
		})
		if i > 0 {
			c.Summary += ", "
		}
		c.Summary += show.Plain(k) + " " + strconv.FormatInt(n, 10)
	}
	c.Height = max(len(c.Bars)*barStep, barStep)
	return c
}

// latency is a chart of milliseconds. Quantiles have no total, so the bars show no share.
func latency(quantiles map[string]*int64) chart {
	counts := map[string]int64{}
	for k, ms := range quantiles {
		if ms != nil {
			counts[k] = *ms
		}
	}
	c := newChart("Decision latency (ms)", "No decisions yet.", counts, "p50", "p95", "p99")
	for i := range c.Bars {
		c.Bars[i].Share, c.Bars[i].Tone = "ms", "accent"
	}
	if len(counts) == 0 {
		c.Total = 0
	}
	return c
}

type checkRow struct {
	Name, Wanted, Found string
	Passed              bool
}

type reportView struct {
	Evaluation evaluationRow
	Report     evaluation.Report
	Result     show.Tag
	Checks     []checkRow
	Charts     []chart
	Power      powerView
	Asks       []forms.Ask
}

func (c *Pages) evaluation(v *shell.Visit) error {
	report, err := c.Evaluations.Report(v.Context, v.Scope(), v.Param("id"))
	if err != nil {
		return err
	}
	m, want := report.Metrics, report.Criteria
	view := reportView{Evaluation: c.evaluationRow(v, report.View), Report: report, Result: show.TagOf(report.Result)}
	view.Checks = []checkRow{
		{"Decisions in shadow mode", "at least " + strconv.FormatInt(want.MinShadowDecisions, 10), strconv.FormatInt(m.ByMode["shadow"], 10), report.Checks["min_shadow_decisions"]},
		{"Decisions with an outcome", "at least " + percent(&want.MinOutcomeCoverage), percent(&m.OutcomeCoverage), report.Checks["min_outcome_coverage"]},
		{"Decisions on too little evidence", "at most " + percent(&want.MaxAbstentionRate), percent(m.AbstentionRate), report.Checks["max_abstention_rate"]},
	}
	power, err := c.Evaluations.Power(v.Context, v.Scope(), report.ID)
	if err != nil {
		return err
	}
	view.Power, view.Asks = newPower(power, view.Evaluation.Starts.Time, c.Clock.Now()), evaluationAsks(v, report.View)
	none := "No decisions yet."
	view.Charts = []chart{
		newChart("Decisions", none, m.ByDecision, "allow", "challenge", "hold", "deny"),
		newChart("Outcomes", "No outcomes reported.", m.Outcomes),
		newChart("Coverage of the evidence", none, m.Coverage, "sufficient", "partial", "sparse", "none"),
		latency(m.LatencyMS),
		newChart("Mode", none, m.ByMode, "enforce", "shadow", "test"),
	}
	return v.Page(fiber.StatusOK, "evaluation.html", report.Name, "evaluations", view)
}

// percent formats a share; a dash if there is none.
func percent(share *float64) string {
	if share == nil {
		return "–"
	}
	return strconv.FormatFloat(100*(*share), 'f', 1, 64) + " %"
}

func (c *Pages) evaluationsExport(v *shell.Visit) (listexport.List, error) {
	scope := v.Scope()
	return listexport.List{
		Name:    "evaluations",
		Columns: []string{"id", "name", "status", "action_keys", "starts_at", "ends_at", "created_at"},
		Source: exports.Paged(func(ctx context.Context, p pg.Page) ([]evaluation.View, string, error) {
			return c.Evaluations.List(ctx, scope, "", p)
		}, func(e evaluation.View) []any {
			return []any{e.ID, e.Name, e.Status, e.ActionKeys, e.StartsAt, e.EndsAt, e.CreatedAt}
		}),
	}, nil
}
