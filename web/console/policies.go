package console

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func itoa(n int) string { return strconv.Itoa(n) }

// listPage is the page size of lists that the console shows without a filter.
const listPage = 200

// actionRow is one action with its policy.
type actionRow struct {
	models.Action
	URL, ActiveURL string
	Mode, Risk     tag
	Updated        stamp
}

func (c *console) actionRow(v *visit, a models.Action) actionRow {
	row := actionRow{
		Action: a, URL: v.at("policies", a.ID), Mode: tag{string(a.Mode), ""}, Risk: tagOf(a.RiskClass), Updated: stamp{a.UpdatedAt, c.Clock.Now()},
	}
	if a.Mode == models.ModeEnforce {
		row.Mode.Tone = "accent"
	}
	if a.ActivePolicyVersion != nil {
		row.ActiveURL = v.at("policies", a.ID, itoa(*a.ActivePolicyVersion))
	}
	return row
}

func (c *console) policies(v *visit) error {
	rows, next, err := c.Actions.List(v.ctx, v.scope(), pg.Page{Limit: listPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view := struct {
		Rows           []actionRow
		Next           string
		BarsSelfReview bool   // the environment's setting, which overrides policies
		New            string // URL; empty without the right
		Export         exportLinks
	}{BarsSelfReview: v.grant.Environment.BarSelfReview, Export: v.exports(nil, "policies")}
	if v.may(WritePolicies) {
		view.New = v.at("policies", "new")
	}
	for _, a := range rows {
		view.Rows = append(view.Rows, c.actionRow(v, a))
	}
	if next != "" {
		view.Next = v.at("policies") + "?cursor=" + next
	}
	return v.page(fiber.StatusOK, "policies.html", "Policies", "policies", view)
}

// versionRow is one version of an action's policy.
type versionRow struct {
	models.PolicyVersion
	URL       string
	Status    tag
	Created   stamp
	Activated *stamp
	Retired   *stamp
	By        actor
	Activator *actor
}

func (c *console) versionRow(v *visit, p models.PolicyVersion, names map[string]string) versionRow {
	now := stamps{c.Clock.Now()}
	row := versionRow{
		PolicyVersion: p, URL: v.at("policies", p.ActionID, itoa(p.Version)), Status: tagOf(string(p.Status)), Created: now.at(p.CreatedAt),
		Activated: now.maybe(p.ActivatedAt), Retired: now.maybe(p.RetiredAt), By: actorOf(p.CreatedBy, names),
	}
	if p.ActivatedBy != nil {
		a := actorOf(*p.ActivatedBy, names)
		row.Activator = &a
	}
	return row
}

func (c *console) policy(v *visit) error {
	a, err := c.Actions.Get(v.ctx, v.scope(), v.param("action"))
	if err != nil {
		return err
	}
	versions, _, err := c.Actions.Versions(v.ctx, v.scope(), a.ID, pg.Page{Limit: listPage})
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
		Asks        []ask
	}{Action: c.actionRow(v, a)}
	if v.may(WritePolicies) {
		view.Draft = v.at("policies", a.ID, "draft")
	}
	if v.may(ChangeActions) {
		view.Edit, view.Asks = v.at("policies", a.ID, "edit"), v.actionAsks(a)
	}
	for _, p := range versions {
		view.Versions = append(view.Versions, c.versionRow(v, p, names))
	}
	return v.page(fiber.StatusOK, "policy.html", "Policy of "+a.Key, "policies", view)
}

func (c *console) versionNames(v *visit, versions ...models.PolicyVersion) (map[string]string, error) {
	var actors []string
	for _, p := range versions {
		actors = append(actors, p.CreatedBy)
		if p.ActivatedBy != nil {
			actors = append(actors, *p.ActivatedBy)
		}
	}
	return c.Reader.Names(v.ctx, v.grant.Environment.TenantID, actors)
}

// versionView is one version, compared with a different one.
type versionView struct {
	Action     actionRow
	Version    versionRow
	Warnings   []policy.Warning
	Against    int // version it is compared with; 0 for none
	Others     []item
	Contents   policyContents
	Changes    []difference
	Activate   string // URL; empty if the user cannot activate the version
	RollBack   string // URL; empty if the version was never active, or the user cannot return to it
	Draft      string // URL of a new draft from this version; empty without the right
	Second     bool   // activation waits for a second approver
	Simulation *simulationView
	Last       int
	URL        string
}

// simulationView is the result of a simulation.
type simulationView struct {
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
	At       *stamp
	From, To tag
	Rules    []string
}

// leftRow is a decision that is not decidable.
type leftRow struct {
	URL   string
	At    *stamp
	From  tag
	Rules []authorization.UndecidedRule
}

// mostMoved is how many decisions each list of a simulation shows.
const mostMoved = 50

type simulationRow struct {
	Decision      tag
	Before, After int
	Delta         string
	BeforeWidth   int
	AfterWidth    int
}

type reasonRow struct {
	authorization.ReasonShift
	Code  code
	Delta string
}

const (
	defaultLast = 1000
	mostLast    = 10000
)

func (c *console) policyVersion(v *visit) error {
	number, err := strconv.Atoi(v.param("version"))
	if err != nil {
		return errVersion()
	}
	a, err := c.Actions.Get(v.ctx, v.scope(), v.param("action"))
	if err != nil {
		return err
	}
	p, err := c.Actions.Version(v.ctx, v.scope(), a.ID, number)
	if err != nil {
		return err
	}
	names, err := c.versionNames(v, p)
	if err != nil {
		return err
	}
	view := versionView{Action: c.actionRow(v, a), Version: c.versionRow(v, p, names), URL: v.at("policies", a.ID, itoa(number)), Last: defaultLast,
		Second: v.grant.Environment.SecondApproverRequired}
	contract, err := action.Contract(p)
	if err != nil {
		return err
	}
	view.Warnings = rules.Warnings(contract.Requirements, contract.ContextSchema)
	if view.Contents, err = contentsOf(p); err != nil {
		return err
	}
	if p.Status == models.PolicyRetired && v.may(Activate) && v.may(WritePolicies) {
		view.RollBack = v.at("policies", a.ID, itoa(number), "roll-back")
	}
	if p.Status == models.PolicyDraft && v.may(Activate) {
		view.Activate = v.at("policies", a.ID, itoa(number), "activate")
	}
	if v.may(WritePolicies) {
		view.Draft = v.at("policies", a.ID, "draft") + "?from=" + itoa(number)
	}
	if err := c.compare(v, &view, a, p); err != nil {
		return err
	}
	if err := c.simulate(v, &view, p); err != nil {
		return err
	}
	return v.page(fiber.StatusOK, "version.html", "Version "+itoa(number)+" of "+a.Key, "policies", view)
}

// compare fills in the differences from a version: the requested one, else the active one, else the previous one.
func (c *console) compare(v *visit, view *versionView, a models.Action, p models.PolicyVersion) error {
	view.Against = against(v.query("against"), a, p)
	var before models.PolicyVersion
	if view.Against > 0 {
		var err error
		if before, err = c.Actions.Version(v.ctx, v.scope(), a.ID, view.Against); err != nil {
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
		view.Others = append(view.Others, item{Label: "version " + itoa(n), URL: view.URL + "?against=" + itoa(n), Current: n == view.Against})
	}
	all, err := differences(before, p)
	if err != nil {
		return err
	}
	view.Changes = changedOnly(all)
	return nil
}

func changedOnly(all []difference) []difference {
	return slices.DeleteFunc(all, func(d difference) bool { return !d.Changed() })
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
func (c *console) simulate(v *visit, view *versionView, p models.PolicyVersion) error {
	asked := v.query("last")
	if asked == "" {
		return nil
	}
	if n, err := strconv.Atoi(asked); err == nil {
		view.Last = min(max(n, 1), mostLast)
	}
	sim, err := c.Authorizations.Simulate(v.ctx, v.scope(), p, policy.EnvironmentKind(v.grant.Environment.Kind), authorization.Window{Last: view.Last, List: mostMoved})
	if err != nil {
		return err
	}
	view.Simulation = c.simulationOf(v, sim)
	return nil
}

// simulationOf prepares a simulation for a page.
func (c *console) simulationOf(v *visit, sim authorization.Simulation) *simulationView {
	out := &simulationView{Simulation: sim, Shift: "0"}
	if sim.Decisions > 0 {
		out.Shift = strconv.FormatFloat(100*float64(sim.Changed)/float64(sim.Decisions), 'f', 1, 64)
	}
	for _, d := range []policy.Effect{policy.Allow, policy.Challenge, policy.Hold, policy.Deny} {
		row := simulationRow{Decision: tagOf(string(d)), Before: sim.Before[d], After: sim.After[d], Delta: signed(sim.After[d] - sim.Before[d])}
		if sim.Decisions > 0 {
			row.BeforeWidth, row.AfterWidth = 300*row.Before/sim.Decisions, 300*row.After/sim.Decisions
		}
		out.Rows = append(out.Rows, row)
	}
	for _, r := range sim.Reasons {
		out.Reasons = append(out.Reasons, reasonRow{ReasonShift: r, Code: codes([]string{r.Code})[0], Delta: signed(r.After - r.Before)})
	}
	now := stamps{c.Clock.Now()}
	for _, m := range sim.Moves {
		out.Moved = append(out.Moved, movedRow{v.at("decisions", m.Authorization), now.text(m.DecidedAt), tagOf(string(m.From)), tagOf(string(m.To)), m.Rules})
	}
	for _, u := range sim.Undecided {
		out.Left = append(out.Left, leftRow{v.at("decisions", u.Authorization), now.text(u.DecidedAt), tagOf(string(u.Decision)), u.Rules})
	}
	return out
}

func signed(n int) string {
	switch {
	case n > 0:
		return "+" + itoa(n)
	case n < 0:
		return "−" + itoa(-n)
	default:
		return "0"
	}
}

func (c *console) activate(v *visit) error {
	number, err := strconv.Atoi(v.param("version"))
	if err != nil {
		return errVersion()
	}
	made, err := c.Changes.Activate(v.ctx, v.principal(), v.param("action"), number)
	if err != nil {
		return err
	}
	if reason := v.reason(); reason != "" && made.Requested != nil && made.Requested.ProposedBy == v.principal().Actor() {
		if err := c.Changes.Explain(v.ctx, v.principal(), made.Requested.ID, reason); err != nil {
			return err
		}
	}
	return v.activated(made)
}

// activated redirects to the version that is active now, or to the change request that waits.
func (v *visit) activated(made change.Made[models.PolicyVersion]) error {
	if made.Requested != nil {
		return v.Redirect(v.at("changes", made.Requested.ID)+"?done=requested", fiber.StatusSeeOther)
	}
	return v.back("policies", v.param("action"), itoa(made.Applied.Version))
}

// reason returns why the user makes a change.
func (v *visit) reason() string {
	return strings.TrimSpace(strings.ReplaceAll(v.form("reason"), "\r\n", "\n"))
}

// rollBack makes a new version with the content of an earlier one and activates it.
func (c *console) rollBack(v *visit) error {
	number, err := strconv.Atoi(v.param("version"))
	if err != nil {
		return errVersion()
	}
	if !v.may(WritePolicies) {
		return problem.New(problem.Forbidden, "Your roles do not include the permission "+string(WritePolicies)+".")
	}
	if v.reason() == "" {
		return problem.New(problem.BadRequest, "Say why the earlier version is to decide again: the reason is missing.")
	}
	made, err := c.Changes.RollBack(v.ctx, v.principal(), action.PolicyRef{Action: v.param("action"), Version: number}, v.reason())
	if err != nil {
		return err
	}
	return v.activated(made)
}
