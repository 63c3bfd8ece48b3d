package console

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

type evaluationRow struct {
	evaluation.View
	URL          string
	Status       tag
	Starts, Ends *stamp
}

func (c *console) evaluationRow(v *visit, e evaluation.View) evaluationRow {
	now := stamps{c.Clock.Now()}
	return evaluationRow{View: e, URL: v.at("evaluations", e.ID), Status: tag{e.Status, ""}, Starts: now.text(e.StartsAt), Ends: now.read(e.EndsAt)}
}

func (c *console) evaluations(v *visit) error {
	rows, next, err := c.Evaluations.List(v.ctx, v.scope(), "", pg.Page{Limit: listPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view := struct {
		Rows   []evaluationRow
		Next   string
		New    string // URL; empty without the right
		Export exportLinks
	}{Export: v.exports(nil, "evaluations")}
	if v.may(RunEvaluations) {
		view.New = v.at("evaluations", "new")
	}
	for _, e := range rows {
		view.Rows = append(view.Rows, c.evaluationRow(v, e))
	}
	if next != "" {
		view.Next = v.at("evaluations") + "?cursor=" + next
	}
	return v.page(fiber.StatusOK, "evaluations.html", "Evaluations", "evaluations", view)
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
			Label: plain(k), Tone: tone(k), Value: strconv.FormatInt(n, 10), Share: share, Y: i * barStep, Width: max(width, 1), LabelX: 10 + width,
		})
		if i > 0 {
			c.Summary += ", "
		}
		c.Summary += plain(k) + " " + strconv.FormatInt(n, 10)
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
	Result     tag
	Checks     []checkRow
	Charts     []chart
	Power      powerView
	Asks       []ask
}

func (c *console) evaluation(v *visit) error {
	report, err := c.Evaluations.Report(v.ctx, v.scope(), v.param("id"))
	if err != nil {
		return err
	}
	m, want := report.Metrics, report.Criteria
	view := reportView{Evaluation: c.evaluationRow(v, report.View), Report: report, Result: tagOf(report.Result)}
	view.Checks = []checkRow{
		{"Decisions in shadow mode", "at least " + strconv.FormatInt(want.MinShadowDecisions, 10), strconv.FormatInt(m.ByMode["shadow"], 10), report.Checks["min_shadow_decisions"]},
		{"Decisions with an outcome", "at least " + percent(&want.MinOutcomeCoverage), percent(&m.OutcomeCoverage), report.Checks["min_outcome_coverage"]},
		{"Decisions on too little evidence", "at most " + percent(&want.MaxAbstentionRate), percent(m.AbstentionRate), report.Checks["max_abstention_rate"]},
	}
	power, err := c.Evaluations.Power(v.ctx, v.scope(), report.ID)
	if err != nil {
		return err
	}
	view.Power, view.Asks = newPower(power, view.Evaluation.Starts.Time, c.Clock.Now()), v.evaluationAsks(report.View)
	none := "No decisions yet."
	view.Charts = []chart{
		newChart("Decisions", none, m.ByDecision, "allow", "challenge", "hold", "deny"),
		newChart("Outcomes", "No outcomes reported.", m.Outcomes),
		newChart("Coverage of the evidence", none, m.Coverage, "sufficient", "partial", "sparse", "none"),
		latency(m.LatencyMS),
		newChart("Mode", none, m.ByMode, "enforce", "shadow", "test"),
	}
	return v.page(fiber.StatusOK, "evaluation.html", report.Name, "evaluations", view)
}

// percent formats a share; a dash if there is none.
func percent(share *float64) string {
	if share == nil {
		return "–"
	}
	return strconv.FormatFloat(100*(*share), 'f', 1, 64) + " %"
}
