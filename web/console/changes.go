package console

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// settledPage is the page size of the settled change requests.
const settledPage = 50

// changeRow is one change request.
type changeRow struct {
	URL, What string
	Status    tag
	By        actor
	Requested stamp
	Expires   stamp
	Resolved  *stamp
	Resolver  *actor // nil for an expiry
	Own       bool
}

// changesView is the list of change requests.
type changesView struct {
	Required          bool // the environment's setting
	Waiting, Settled  []changeRow
	MoreWaiting, Next string
	Export            exportLinks
}

func (c *console) changes(v *visit) error {
	view := changesView{Required: v.grant.Environment.SecondApproverRequired, Export: v.exports(nil, "changes")}
	pending := change.Filter{Status: models.ChangePending}
	waiting, more, err := c.Changes.List(v.ctx, v.principal(), pending, pg.Page{Limit: listPage, After: v.query("waiting")})
	if err != nil {
		return cursorFault(err)
	}
	settled, next, err := c.Changes.List(v.ctx, v.principal(), change.Filter{}, pg.Page{Limit: settledPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	// The second list has all statuses, so that a change request moves from one list to the other and is never in neither.
	settled = slices.DeleteFunc(settled, func(r change.View) bool { return r.Status == models.ChangePending })
	names, err := c.changeNames(v, append(slices.Clone(waiting), settled...)...)
	if err != nil {
		return err
	}
	view.Waiting, view.Settled = c.changeRows(v, waiting, names), c.changeRows(v, settled, names)
	if more != "" {
		view.MoreWaiting = v.at("changes") + "?waiting=" + more
	}
	if next != "" {
		view.Next = v.at("changes") + "?cursor=" + next
	}
	return v.page(fiber.StatusOK, "changes.html", "Changes", "changes", view)
}

func (c *console) changeNames(v *visit, rows ...change.View) (map[string]string, error) {
	var actors []string
	for _, r := range rows {
		actors = append(actors, r.ProposedBy)
		if r.ResolvedBy != nil {
			actors = append(actors, *r.ResolvedBy)
		}
	}
	return c.Reader.Names(v.ctx, v.grant.Environment.TenantID, actors)
}

func (c *console) changeRows(v *visit, rows []change.View, names map[string]string) []changeRow {
	out := make([]changeRow, len(rows))
	for i, r := range rows {
		out[i] = c.changeRow(v, r, names)
	}
	return out
}

func (c *console) changeRow(v *visit, r change.View, names map[string]string) changeRow {
	now := stamps{c.Clock.Now()}
	row := changeRow{
		URL: v.at("changes", r.ID), What: whatChanges(r), Status: tagOf(string(r.Status)), By: actorOf(r.ProposedBy, names),
		Requested: now.at(r.CreatedAt), Expires: now.at(r.ExpiresAt), Resolved: now.maybe(r.ResolvedAt), Own: r.Own,
	}
	if r.ResolvedBy != nil {
		by := actorOf(*r.ResolvedBy, names)
		row.Resolver = &by
	}
	return row
}

// whatChanges describes a change request in a few words.
func whatChanges(r change.View) string {
	switch r.Kind {
	case models.ChangePolicyActivate:
		return "Activate version " + itoa(r.PolicyVersion) + " of " + r.Action
	case models.ChangeActionMode:
		return "Change the mode of " + r.Action
	case models.ChangeTeamCreate:
		return "Create the team " + r.Team
	case models.ChangeTeamUpdate:
		return "Change the team " + r.Team
	case models.ChangeTeamDelete:
		return "Delete the team " + r.Team
	case models.ChangeListEntries:
		return "Change entries of the list " + r.List
	case models.ChangeListDelete:
		return "Delete the list " + r.List
	case models.ChangeWebhookCreate:
		return "Create a webhook endpoint"
	case models.ChangeWebhookUpdate:
		return "Change the webhook endpoint " + short(r.Endpoint)
	default:
		return "Change settings of the environment"
	}
}

// changeView is one change request with its form.
type changeView struct {
	changeRow
	ID          string
	Pending     bool
	Target      item            // what is changed, if it has a page
	Contents    *policyContents // of the version to activate; nil for other kinds
	Differences []difference
	Reasons     []reasonGiven
	Applies     bool
	Simulation  *simulationView
	Approvable  bool   // the user may approve and reject it
	Withdrawing bool   // the user may withdraw it
	Form        string // URL
	List        string
	Notice      *notice
}

// reasonGiven is the reason that someone gave.
type reasonGiven struct {
	By     actor
	Verb   string
	Reason []string // lines
}

func (c *console) changePage(v *visit) error { return c.showChange(v, fiber.StatusOK, nil) }

// showChange renders a change request. The notice is nil for what the query says became of the user's last form.
func (c *console) showChange(v *visit, status int, n *notice) error {
	seen, err := c.Changes.Get(v.ctx, v.principal(), v.param("id"))
	if err != nil {
		return err
	}
	names, err := c.changeNames(v, *seen)
	if err != nil {
		return err
	}
	if n == nil {
		n = becameOf(v.query("done"), seen)
	}
	view := changeView{
		changeRow: c.changeRow(v, *seen, names), ID: seen.ID, Pending: seen.Status == models.ChangePending, Target: target(v, seen),
		Differences: changedFields(seen.Differences), Applies: seen.Applies == nil || *seen.Applies,
		Form: v.at("changes", seen.ID), List: v.at("changes"), Notice: n,
	}
	// The principal of a person has no list of permissions; the route's right decides.
	view.Approvable = seen.Approvable && v.may(DecideChanges)
	view.Withdrawing = view.Pending && seen.Own && v.may(DecideChanges)
	if seen.Reason != "" {
		view.Reasons = append(view.Reasons, reasonGiven{view.By, "requested it", strings.Split(seen.Reason, "\n")})
	}
	if seen.ResolvedFor != "" && view.Resolver != nil {
		view.Reasons = append(view.Reasons, reasonGiven{*view.Resolver, "settled it", strings.Split(seen.ResolvedFor, "\n")})
	}
	if seen.Kind == models.ChangePolicyActivate {
		if err := c.versionChange(v, seen, &view); err != nil {
			return err
		}
	}
	if seen.Simulation != nil {
		view.Simulation = c.simulationOf(v, *seen.Simulation)
	}
	return v.page(status, "change.html", view.What, "changes", view)
}

// versionChange shows the version to activate as its own page does.
func (c *console) versionChange(v *visit, r *change.View, view *changeView) error {
	after, err := c.Actions.Version(v.ctx, v.scope(), r.Target, r.PolicyVersion)
	if isAbsent(err) { // the action was archived
		return nil
	}
	if err != nil {
		return err
	}
	var before models.PolicyVersion
	if r.Replaces > 0 {
		if before, err = c.Actions.Version(v.ctx, v.scope(), r.Target, r.Replaces); err != nil {
			return err
		}
	}
	all, err := differences(before, after)
	if err != nil {
		return err
	}
	view.Differences = changedOnly(all)
	contents, err := contentsOf(after)
	view.Contents = &contents
	return err
}

func target(v *visit, r *change.View) item {
	switch r.Kind {
	case models.ChangePolicyActivate:
		return item{Label: "policy", URL: v.at("policies", r.Target, itoa(r.PolicyVersion))}
	case models.ChangeActionMode:
		return item{Label: "policy", URL: v.at("policies", r.Target)}
	case models.ChangeTeamCreate, models.ChangeTeamUpdate, models.ChangeTeamDelete:
		return item{Label: "teams", URL: v.at("teams")}
	case models.ChangeListEntries, models.ChangeListDelete:
		return item{Label: "list", URL: v.at("lists", r.Target)}
	case models.ChangeWebhookUpdate:
		return item{Label: "endpoint", URL: v.at("webhooks", r.Target)}
	default:
		return item{}
	}
}

// becameOf returns the notice for the user's last form. It states only what the change request confirms: a URL can be made up.
func becameOf(done string, r *change.View) *notice {
	switch {
	case done == "requested" && r.Status == models.ChangePending && r.Own:
		return &notice{"good", "The change is requested. It waits for a second approver, and nothing is changed yet."}
	case done == "requested" && r.Status == models.ChangePending:
		return &notice{"warn", "The same change was requested before and still waits. Your request is not an approval; approve it below."}
	case done == "" || done != string(r.Status):
		return nil
	case r.Status == models.ChangeApproved:
		return &notice{"good", "The change is approved and has taken effect."}
	case r.Status == models.ChangeRejected:
		return &notice{"good", "The change is rejected. Nothing was changed."}
	case r.Status == models.ChangeWithdrawn:
		return &notice{"good", "The change is withdrawn. Nothing was changed."}
	default:
		return nil
	}
}

// decideChange approves, rejects or withdraws a change request. It shows a refusal on the page of the change request.
func (c *console) decideChange(v *visit) error {
	resolution := v.form("resolution")
	if !slices.Contains([]string{change.Approve, change.Reject, change.Withdraw}, resolution) {
		return problem.New(problem.BadRequest, "resolution must be approve, reject or withdraw.")
	}
	done, err := c.Decider.Decide(v.ctx, v.principal(), v.param("id"), resolution, v.reason())
	if p := problem.As(err); p != nil && p.Code != problem.NotFound {
		request.SetProblemCode(v.Ctx, p.Code)
		return c.showChange(v, problem.Of(p.Code).Status, &notice{"bad", p.Detail})
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.at("changes", done.ID)+"?done="+string(done.Status), fiber.StatusSeeOther)
}

// explainChange sets the reason of the user's own change request.
func (c *console) explainChange(v *visit) error {
	if err := c.Changes.Explain(v.ctx, v.principal(), v.param("id"), v.reason()); err != nil {
		return err
	}
	return v.back("changes", v.param("id"))
}
