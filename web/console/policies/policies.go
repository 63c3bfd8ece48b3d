package policies

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

func (c *Pages) policiesExport(v *shell.Visit) (listexport.List, error) {
	scope := v.Scope()
	return listexport.List{
		Name:    "policies",
		Columns: []string{"id", "key", "name", "mode", "risk_class", "active_policy_version", "created_at", "updated_at"},
		Source: exports.Paged(func(ctx context.Context, p pg.Page) ([]models.Action, string, error) {
			return c.Actions.List(ctx, scope, p)
		}, func(a models.Action) []any {
			return []any{a.ID, a.Key, a.Name, string(a.Mode), a.RiskClass, a.ActivePolicyVersion, a.CreatedAt, a.UpdatedAt}
		}),
	}, nil
}

// actionRow is one action with its policy.
type actionRow struct {
	models.Action
	URL, ActiveURL string
	Mode, Risk     show.Tag
	Updated        show.Stamp
}

func (c *Pages) actionRow(v *shell.Visit, a models.Action) actionRow {
	row := actionRow{
		Action: a, URL: v.At("policies", a.ID), Mode: show.Tag{Text: string(a.Mode), Tone: ""}, Risk: show.TagOf(a.RiskClass), Updated: show.Stamp{Time: a.UpdatedAt, Now: c.Clock.Now()},
	}
	if a.Mode == models.ModeEnforce {
		row.Mode.Tone = "accent"
	}
	if a.ActivePolicyVersion != nil {
		row.ActiveURL = v.At("policies", a.ID, strconv.Itoa(*a.ActivePolicyVersion))
	}
	return row
}

func (c *Pages) policies(v *shell.Visit) error {
	rows, paged, err := shell.List(v, "policies", shell.WritePolicies, func(p pg.Page) ([]models.Action, string, error) {
		return c.Actions.List(v.Context, v.Scope(), p)
	})
	if err != nil {
		return err
	}
	view := struct {
		shell.Paged
		Rows           []actionRow
		BarsSelfReview bool // the environment's setting, which overrides policies
		Export         exports.Links
	}{Paged: paged, BarsSelfReview: v.Grant.Environment.BarSelfReview, Export: exports.Of(v, nil, "policies")}
	for _, a := range rows {
		view.Rows = append(view.Rows, c.actionRow(v, a))
	}
	return v.Page(fiber.StatusOK, "policies.html", "Policies", "policies", view)
}

// versionRow is one version of an action's policy.
type versionRow struct {
	models.PolicyVersion
	URL       string
	Status    show.Tag
	Created   show.Stamp
	Activated *show.Stamp
	Retired   *show.Stamp
	By        show.Actor
	Activator *show.Actor
}

func (c *Pages) versionRow(v *shell.Visit, p models.PolicyVersion, names map[string]string) versionRow {
	now := show.Stamps{Now: c.Clock.Now()}
	row := versionRow{
		PolicyVersion: p, URL: v.At("policies", p.ActionID, strconv.Itoa(p.Version)), Status: show.TagOf(string(p.Status)), Created: now.At(p.CreatedAt),
		Activated: now.Maybe(p.ActivatedAt), Retired: now.Maybe(p.RetiredAt), By: show.ActorOf(p.CreatedBy, names),
	}
	if p.ActivatedBy != nil {
		a := show.ActorOf(*p.ActivatedBy, names)
		row.Activator = &a
	}
	return row
}

func (c *Pages) policy(v *shell.Visit) error {
	a, err := c.Actions.Get(v.Context, v.Scope(), v.Param("action"))
	if err != nil {
		return err
	}
	versions, _, err := c.Actions.Versions(v.Context, v.Scope(), a.ID, pg.Page{Limit: shell.ListPage})
	if err != nil {
		return err
	}
	names, err := c.versionNames(v, versions...)
	if err != nil {
		return err
	}
	view := struct {
		Action      actionRow
		Versions    []versionRow
		Draft, Edit string // URLs; empty without the right
		Asks        []forms.Ask
	}{Action: c.actionRow(v, a)}
	if v.May(shell.WritePolicies) {
		view.Draft = v.At("policies", a.ID, "draft")
	}
	if v.May(shell.ActivatePolicies) {
		view.Edit, view.Asks = v.At("policies", a.ID, "edit"), actionAsks(v, a)
	}
	for _, p := range versions {
		view.Versions = append(view.Versions, c.versionRow(v, p, names))
	}
	return v.Page(fiber.StatusOK, "policy.html", "Policy of "+a.Key, "policies", view)
}

func (c *Pages) versionNames(v *shell.Visit, versions ...models.PolicyVersion) (map[string]string, error) {
	var actors []string
	for _, p := range versions {
		actors = append(actors, p.CreatedBy)
		if p.ActivatedBy != nil {
			actors = append(actors, *p.ActivatedBy)
		}
	}
	return c.Reader.Names(v.Context, v.Grant.Environment.TenantID, actors)
}

// versionView is one version, compared with a different one.
type versionView struct {
	Action     actionRow
	Version    versionRow
	Warnings   []policy.Warning
	Against    int // version it is compared with; 0 for none
	Others     []show.Item
	Contents   Contents
	Changes    []Difference
	Activate   string // URL; empty if the user cannot activate the version
	RollBack   string // URL; empty if the version was never active, or the user cannot return to it
	Draft      string // URL of a new draft from this version; empty without the right
	Second     bool   // activation waits for a second approver
	Simulation *SimulationView
	Last       int
	URL        string
}

// SimulationView is the result of a simulation.
type SimulationView struct {
	authorization.Simulation
	Rows    []simulationRow
	Reasons []reasonRow
	Shift   string
	Moved   []movedRow
	Left    []leftRow
}

// movedRow is a decision that would have been different.
type movedRow struct {
	URL      string
	At       *show.Stamp
	From, To show.Tag
	Rules    []string
}

// leftRow is a decision that is not decidable.
type leftRow struct {
	URL   string
	At    *show.Stamp
	From  show.Tag
	Rules []authorization.UndecidedRule
}

// KeptHelps reports whether keeping the values of requests would make decisions decidable: a rule reads one of the request.
func (s SimulationView) KeptHelps() bool { return s.lacks(ofRequestItself) }

// SumsMissing reports whether a rule reads a number over earlier requests that is not known.
func (s SimulationView) SumsMissing() bool {
	return s.lacks(func(name string) bool { return strings.Contains(name, "(") })
}

func (s SimulationView) lacks(kind func(name string) bool) bool {
	return slices.ContainsFunc(s.Left, func(l leftRow) bool {
		return slices.ContainsFunc(l.Rules, func(r authorization.UndecidedRule) bool {
			return slices.ContainsFunc(r.Unknown, kind)
		})
	})
}

// ofRequestItself reports whether the value that a condition reads is one of the request. Numbers over earlier requests are calls, such as
// subject.sum("amount", "24h").
func ofRequestItself(name string) bool {
	return strings.HasPrefix(name, "context") || name == "resource" || name == "resource.id"
}

// mostMoved is how many decisions each list of a simulation shows.
const mostMoved = 50

type simulationRow struct {
	Decision      show.Tag
	Before, After int
	Delta         string
	BeforeWidth   int
	AfterWidth    int
}

type reasonRow struct {
	authorization.ReasonShift
	Code  show.Code
	Delta string
}

const (
	defaultLast = 1000
	mostLast    = 10000
)

func (c *Pages) policyVersion(v *shell.Visit) error {
	number, err := strconv.Atoi(v.Param("version"))
	if err != nil {
		return problem.NewNotFound()
	}
	a, err := c.Actions.Get(v.Context, v.Scope(), v.Param("action"))
	if err != nil {
		return err
	}
	p, err := c.Actions.Version(v.Context, v.Scope(), a.ID, number)
	if err != nil {
		return err
	}
	names, err := c.versionNames(v, p)
	if err != nil {
		return err
	}
	view := versionView{Action: c.actionRow(v, a), Version: c.versionRow(v, p, names), URL: v.At("policies", a.ID, strconv.Itoa(number)), Last: defaultLast,
		Second: v.Grant.Environment.SecondApproverRequired}
	contract, err := action.Contract(p)
	if err != nil {
		return err
	}
	view.Warnings = rules.Warnings(contract.Requirements, contract.ContextSchema)
	if view.Contents, err = ContentsOf(p); err != nil {
		return err
	}
	if p.Status == models.PolicyRetired && v.May(shell.ActivatePolicies) && v.May(shell.WritePolicies) {
		view.RollBack = v.At("policies", a.ID, strconv.Itoa(number), "roll-back")
	}
	if p.Status == models.PolicyDraft && v.May(shell.ActivatePolicies) {
		view.Activate = v.At("policies", a.ID, strconv.Itoa(number), "activate")
	}
	if v.May(shell.WritePolicies) {
		view.Draft = v.At("policies", a.ID, "draft") + "?from=" + strconv.Itoa(number)
	}
	if err := c.compare(v, &view, a, p); err != nil {
		return err
	}
	if err := c.simulate(v, &view, p); err != nil {
		return err
	}
	return v.Page(fiber.StatusOK, "version.html", "Version "+strconv.Itoa(number)+" of "+a.Key, "policies", view)
}

// compare fills in the differences from a version: the requested one, else the active one, else the previous one.
func (c *Pages) compare(v *shell.Visit, view *versionView, a models.Action, p models.PolicyVersion) error {
	view.Against = against(v.Query("against"), a, p)
	var before models.PolicyVersion
	if view.Against > 0 {
		var err error
		if before, err = c.Actions.Version(v.Context, v.Scope(), a.ID, view.Against); err != nil {
			return err
		}
	}
	for n := range p.Version + 3 {
		if n == 0 || n == p.Version || n < p.Version-6 {
			continue
		}
		if n > p.Version && (a.ActivePolicyVersion == nil || n > *a.ActivePolicyVersion) {
			continue
		}
		view.Others = append(view.Others, show.Item{Label: "version " + strconv.Itoa(n), URL: view.URL + "?against=" + strconv.Itoa(n), Current: n == view.Against})
	}
	all, err := Differences(before, p)
	if err != nil {
		return err
	}
	view.Changes = ChangedOnly(all)
	return nil
}

// ChangedOnly returns the differences of what changed.
func ChangedOnly(all []Difference) []Difference {
	return slices.DeleteFunc(all, func(d Difference) bool { return !d.Changed() })
}

func against(asked string, a models.Action, p models.PolicyVersion) int {
	if n, err := strconv.Atoi(asked); err == nil && n > 0 && n != p.Version {
		return n
	}
	if a.ActivePolicyVersion != nil && *a.ActivePolicyVersion != p.Version {
		return *a.ActivePolicyVersion
	}
	return p.Version - 1
}

// simulate re-evaluates recent decisions under the version if the request asks for it. It changes nothing.
func (c *Pages) simulate(v *shell.Visit, view *versionView, p models.PolicyVersion) error {
	asked := v.Query("last")
	if asked == "" {
		return nil
	}
	if n, err := strconv.Atoi(asked); err == nil {
		view.Last = min(max(n, 1), mostLast)
	}
	sim, err := c.Authorizations.Simulate(v.Context, v.Scope(), p, policy.EnvironmentKind(v.Grant.Environment.Kind), authorization.Window{Last: view.Last, List: mostMoved})
	if err != nil {
		return err
	}
	view.Simulation = c.SimulationOf(v, sim)
	return nil
}

// SimulationOf prepares a simulation for a page.
func (c *Pages) SimulationOf(v *shell.Visit, sim authorization.Simulation) *SimulationView {
	out := &SimulationView{Simulation: sim, Shift: "0"}
	if sim.Decisions > 0 {
		out.Shift = strconv.FormatFloat(100*float64(sim.Changed)/float64(sim.Decisions), 'f', 1, 64)
	}
	for _, d := range []policy.Effect{policy.Allow, policy.Challenge, policy.Hold, policy.Deny} {
		row := simulationRow{Decision: show.TagOf(string(d)), Before: sim.Before[d], After: sim.After[d], Delta: signed(sim.After[d] - sim.Before[d])}
		if sim.Decisions > 0 {
			row.BeforeWidth, row.AfterWidth = 300*row.Before/sim.Decisions, 300*row.After/sim.Decisions
		}
		out.Rows = append(out.Rows, row)
	}
	for _, r := range sim.Reasons {
		out.Reasons = append(out.Reasons, reasonRow{ReasonShift: r, Code: show.Codes([]string{r.Code})[0], Delta: signed(r.After - r.Before)})
	}
	now := show.Stamps{Now: c.Clock.Now()}
	for _, m := range sim.Moves {
		out.Moved = append(out.Moved, movedRow{v.At("decisions", m.Authorization), now.Text(m.DecidedAt), show.TagOf(string(m.From)), show.TagOf(string(m.To)), m.Rules})
	}
	for _, u := range sim.Undecided {
		out.Left = append(out.Left, leftRow{v.At("decisions", u.Authorization), now.Text(u.DecidedAt), show.TagOf(string(u.Decision)), u.Rules})
	}
	return out
}

func signed(n int) string {
	switch {
	case n > 0:
		return "+" + strconv.Itoa(n)
	case n < 0:
		return "−" + strconv.Itoa(-n)
	default:
		return "0"
	}
}

func (c *Pages) activate(v *shell.Visit) error {
	number, err := strconv.Atoi(v.Param("version"))
	if err != nil {
		return problem.NewNotFound()
	}
	made, err := c.Changes.Activate(v.Context, v.Principal(), v.Param("action"), number)
	if err != nil {
		return err
	}
	if reason := v.Reason(); reason != "" && made.Requested != nil && made.Requested.ProposedBy == v.Principal().Actor() {
		if err := c.Changes.Explain(v.Context, v.Principal(), made.Requested.ID, reason); err != nil {
			return err
		}
	}
	return activated(v, made)
}

// activated redirects to the version that is active now, or to the change request that waits.
func activated(v *shell.Visit, made change.Made[models.PolicyVersion]) error {
	if made.Requested != nil {
		return v.Redirect(v.At("changes", made.Requested.ID)+"?done=requested", fiber.StatusSeeOther)
	}
	return v.Back("policies", v.Param("action"), strconv.Itoa(made.Applied.Version))
}

// rollBack makes a new version with the content of an earlier one and activates it.
func (c *Pages) rollBack(v *shell.Visit) error {
	number, err := strconv.Atoi(v.Param("version"))
	if err != nil {
		return problem.NewNotFound()
	}
	if !v.May(shell.WritePolicies) {
		return problem.New(problem.Forbidden, "Your roles do not include the permission "+string(shell.WritePolicies)+".")
	}
	if v.Reason() == "" {
		return problem.New(problem.BadRequest, "Say why the earlier version is to decide again: the reason is missing.")
	}
	made, err := c.Changes.RollBack(v.Context, v.Principal(), action.PolicyRef{Action: v.Param("action"), Version: number}, v.Reason())
	if err != nil {
		return err
	}
	return activated(v, made)
}
