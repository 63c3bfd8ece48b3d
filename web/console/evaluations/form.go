package evaluations

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// evaluationBody is the body of createEvaluation.
type evaluationBody struct {
	Name       string     `json:"name"`
	ActionKeys []string   `json:"action_keys"`
	StartsAt   *time.Time `json:"starts_at"`
	EndsAt     *time.Time `json:"ends_at"`
	Criteria   struct {
		MinShadowDecisions *int64   `json:"min_shadow_decisions"`
		MinOutcomeCoverage *float64 `json:"min_outcome_coverage"`
		MaxAbstentionRate  *float64 `json:"max_abstention_rate"`
	} `json:"success_criteria"`
}

func (c *Pages) evaluationForm(v *shell.Visit) (forms.Form, error) {
	actions, _, err := c.Actions.List(v.Context, v.Scope(), pg.Page{Limit: shell.ListPage})
	keys := make([]string, len(actions))
	for i, a := range actions {
		keys[i] = a.Key
	}
	d := evaluation.DefaultCriteria()
	share := func(f float64) string { return fmt.Sprintf("%g", f) }
	return forms.Form{
		Operation: "createEvaluation", Section: "evaluations", Heading: "New evaluation", To: v.At("evaluations", "new"), Submit: "Start the evaluation",
		Back:  show.Item{Label: "Evaluations", URL: v.At("evaluations")},
		Intro: "An evaluation counts the decisions of actions in a window and changes nothing. Its page forecasts when it has enough of them.",
		Fields: []forms.Field{
			{Name: "name", Label: "Name"},
			{Name: "action_keys", Label: "Actions", Kind: forms.SomeOf, Options: forms.Options(keys...), Sent: true, Hint: "Their decisions in shadow mode count."},
			{Name: "starts_at", Label: "Starts (UTC)", Hint: "Leave empty to start now."},
			{Name: "ends_at", Label: "Ends (UTC)", Hint: "Leave empty to keep it open until you close it."},
			{Name: "success_criteria.min_shadow_decisions", Label: "Minimum number of decisions in shadow mode", Value: strconv.Itoa(int(d.MinShadowDecisions))},
			{Name: "success_criteria.min_outcome_coverage", Label: "Minimum share of decisions with an outcome", Value: share(d.MinOutcomeCoverage)},
			{Name: "success_criteria.max_abstention_rate", Label: "Maximum share of decisions with insufficient evidence", Value: share(d.MaxAbstentionRate)},
		},
	}, err
}

func (c *Pages) newEvaluation(v *shell.Visit) error {
	f, err := c.evaluationForm(v)
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) createEvaluation(v *shell.Visit) error {
	f, err := c.evaluationForm(v)
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in evaluationBody) error {
		criteria := evaluation.DefaultCriteria()
		given(&criteria.MinShadowDecisions, in.Criteria.MinShadowDecisions)
		given(&criteria.MinOutcomeCoverage, in.Criteria.MinOutcomeCoverage)
		given(&criteria.MaxAbstentionRate, in.Criteria.MaxAbstentionRate)
		made, err := c.Evaluations.Create(v.Context, v.Principal(), evaluation.Create{
			Name: in.Name, ActionKeys: in.ActionKeys, StartsAt: in.StartsAt, EndsAt: in.EndsAt, Criteria: criteria,
		})
		if err != nil {
			return err
		}
		return v.Back("evaluations", made.ID)
	})
}

// given sets a value if there is one.
func given[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

func (c *Pages) closeEvaluation(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	if _, _, err := c.Closer.Close(v.Context, v.Principal(), v.Param("id")); err != nil {
		return err
	}
	return v.Back("evaluations", v.Param("id"))
}

func evaluationAsks(v *shell.Visit, e evaluation.View) []forms.Ask {
	if e.Status != "open" || !v.May(shell.ManageEvaluations) {
		return nil
	}
	return []forms.Ask{{ID: "close", Label: "Close", To: v.At("evaluations", e.ID, "close"), Verb: "close it",
		Text: "The decisions are counted and the report is stored. This cannot be undone."}}
}

// Dimensions of the plot of power, in SVG units.
const (
	powerLeft, powerRight = 60, 600
	powerTop, powerBottom = 16, 150
)

// powerView is the plot of the decisions so far and of the forecast.
type powerView struct {
	evaluation.Power
	Line         string // points of the decisions so far
	ForecastLine string // from now to when there are enough; empty for none
	NeededY      int
	Until        show.Stamp // right end
	Start        show.Stamp // left end
	Enough       *show.Stamp
	Rate         string
	Accuracy     string // of the decisions so far
	Aim          string // of enough decisions
	Summary      string
}

func newPower(p evaluation.Power, start, now time.Time) powerView {
	at := show.Stamps{Now: now}
	end := now
	if p.Enough != nil {
		end = *p.Enough
	}
	if !end.After(start) {
		end = start.Add(24 * time.Hour)
	}
	most := float64(max(p.Needed, p.Have)) * 1.1
	x := func(t time.Time) int {
		share := float64(t.Sub(start)) / float64(end.Sub(start))
		return powerLeft + int(math.Round(min(max(share, 0), 1)*(powerRight-powerLeft)))
	}
	y := func(n int64) int { return powerBottom - int(math.Round(float64(n)/most*(powerBottom-powerTop))) }
	view := powerView{
		Power: p, NeededY: y(p.Needed), Start: at.At(start), Until: at.At(end), Enough: at.Maybe(p.Enough),
		Rate: fmt.Sprintf("%.1f", p.PerDay), Accuracy: points(p.Margin), Aim: points(p.MarginEnough),
	}
	line := []string{fmt.Sprintf("%d,%d", x(start), y(0))}
	for _, d := range p.Days {
		dayEnd := d.Day.Add(24 * time.Hour)
		if dayEnd.After(now) {
			dayEnd = now
		}
		line = append(line, fmt.Sprintf("%d,%d", x(dayEnd), y(d.Count)))
	}
	line = append(line, fmt.Sprintf("%d,%d", x(now), y(p.Have)))
	view.Line = strings.Join(line, " ")
	if p.Enough != nil {
		view.ForecastLine = fmt.Sprintf("%d,%d %d,%d", x(now), y(p.Have), x(end), y(p.Needed))
	}
	view.Summary = fmt.Sprintf("%d of %d decisions in shadow mode", p.Have, p.Needed)
	return view
}

// points formats a margin in percentage points.
func points(margin float64) string { return fmt.Sprintf("±%.1f", 100*margin) }
