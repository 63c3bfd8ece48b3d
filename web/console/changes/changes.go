package changes

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/policies"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// settledPage is the page size of the settled change requests.
const settledPage = 50

// ChangeRow is one change request.
type ChangeRow struct {
	URL, What string
	Status    show.Tag
	By        show.Actor
	Requested show.Stamp
	Expires   show.Stamp
	Resolved  *show.Stamp
	Resolver  *show.Actor // nil for an expiry
	Own       bool
}

// changesView is the list of change requests.
type changesView struct {
	Required          bool // the environment's setting
	Waiting, Settled  []ChangeRow
	MoreWaiting, Next string
	Export            exports.Links
}

func (c *Pages) changes(v *shell.Visit) error {
	view := changesView{Required: v.Grant.Environment.SecondApproverRequired, Export: exports.Of(v, nil, "changes")}
	pending := change.Filter{Status: models.ChangePending}
	waiting, more, err := c.Changes.List(v.Context, v.Principal(), pending, pg.Page{Limit: shell.ListPage, After: v.Query("waiting")})
	if err != nil {
		return shell.CursorFault(err)
	}
	settled, next, err := c.Changes.List(v.Context, v.Principal(), change.Filter{}, pg.Page{Limit: settledPage, After: v.Query("cursor")})
	if err != nil {
		return shell.CursorFault(err)
	}
	// The second list has all statuses, so that a change request moves from one list to the other and is never in neither.
	settled = slices.DeleteFunc(settled, func(r change.View) bool { return r.Status == models.ChangePending })
	names, err := c.ChangeNames(v, append(slices.Clone(waiting), settled...)...)
	if err != nil {
		return err
	}
	view.Waiting, view.Settled = c.ChangeRows(v, waiting, names), c.ChangeRows(v, settled, names)
	if more != "" {
		view.MoreWaiting = v.At("changes") + "?waiting=" + more
	}
	if next != "" {
		view.Next = v.At("changes") + "?cursor=" + next
	}
	return v.Page(fiber.StatusOK, "changes.html", "Changes", "changes", view)
}

// ChangeNames returns the names of the people who requested or resolved the changes, by actor.
func (c *Pages) ChangeNames(v *shell.Visit, rows ...change.View) (map[string]string, error) {
	var actors []string
	for _, r := range rows {
		actors = append(actors, r.ProposedBy)
		if r.ResolvedBy != nil {
			actors = append(actors, *r.ResolvedBy)
		}
	}
	return c.Reader.Names(v.Context, v.Grant.Environment.TenantID, actors)
}

// ChangeRows returns the rows of a list of changes.
func (c *Pages) ChangeRows(v *shell.Visit, rows []change.View, names map[string]string) []ChangeRow {
	out := make([]ChangeRow, len(rows))
	for i, r := range rows {
		out[i] = c.changeRow(v, r, names)
	}
	return out
}

func (c *Pages) changeRow(v *shell.Visit, r change.View, names map[string]string) ChangeRow {
	now := show.Stamps{Now: c.Clock.Now()}
	row := ChangeRow{
		URL: v.At("changes", r.ID), What: whatChanges(r), Status: show.TagOf(string(r.Status)), By: show.ActorOf(r.ProposedBy, names),
		Requested: now.At(r.CreatedAt), Expires: now.At(r.ExpiresAt), Resolved: now.Maybe(r.ResolvedAt), Own: r.Own,
	}
	if r.ResolvedBy != nil {
		by := show.ActorOf(*r.ResolvedBy, names)
		row.Resolver = &by
	}
	return row
}

// whatChanges describes a change request in a few words.
func whatChanges(r change.View) string {
	switch r.Kind {
	case models.ChangePolicyActivate:
		return "Activate version " + strconv.Itoa(r.PolicyVersion) + " of " + r.Action
	case models.ChangeActionMode:
		return "Change the mode of " + r.Action
	case models.ChangeTeamCreate:
		return "Create the team " + r.Team
	case models.ChangeTeamUpdate:
		return "Change the team " + r.Team
	case models.ChangeTeamDelete:
		return "Delete the team " + r.Team
	case models.ChangeSubjectReinstate:
		return "End the revocation of the subject " + r.Subject
	case models.ChangePersonManager:
		return "Change the manager of " + r.Target
	case models.ChangeSignalsSet:
		return "Take security events of " + r.Target
	case models.ChangeSignalsRemove:
		return "Remove the security events of " + r.Target
	case models.ChangeDestinationSet:
		return "Send the log to " + r.Target
	case models.ChangeDestinationRemove:
		return "Stop sending the log to " + r.Target
	case models.ChangeListEntries:
		return "Change entries of the list " + r.List
	case models.ChangeListDelete:
		return "Delete the list " + r.List
	case models.ChangeWebhookCreate:
		return "Create a webhook endpoint"
	case models.ChangeWebhookUpdate:
		return "Change the webhook endpoint " + show.Short(r.Endpoint)
	default:
		return "Change settings of the environment"
	}
}

// changeView is one change request with its form.
type changeView struct {
	ChangeRow
	ID          string
	Pending     bool
	Target      show.Item          // what is changed, if it has a page
	Contents    *policies.Contents // of the version to activate; nil for other kinds
	Differences []policies.Difference
	Reasons     []reasonGiven
	Applies     bool
	Simulation  *policies.SimulationView
	Approvable  bool   // the user may approve and reject it
	Withdrawing bool   // the user may withdraw it
	Form        string // URL
	List        string
	Notice      *show.Notice
}

// reasonGiven is the reason that someone gave.
type reasonGiven struct {
	By     show.Actor
	Verb   string
	Reason []string // lines
}

func (c *Pages) changePage(v *shell.Visit) error { return c.showChange(v, fiber.StatusOK, nil) }

// showChange renders a change request. The notice is nil for what the query says became of the user's last form.
func (c *Pages) showChange(v *shell.Visit, status int, n *show.Notice) error {
	seen, err := c.Changes.Get(v.Context, v.Principal(), v.Param("id"))
	if err != nil {
		return err
	}
	names, err := c.ChangeNames(v, *seen)
	if err != nil {
		return err
	}
	if n == nil {
		n = becameOf(v.Query("done"), seen)
	}
	view := changeView{
		ChangeRow: c.changeRow(v, *seen, names), ID: seen.ID, Pending: seen.Status == models.ChangePending, Target: target(v, seen),
		Differences: policies.ChangedFields(seen.Differences), Applies: seen.Applies == nil || *seen.Applies,
		Form: v.At("changes", seen.ID), List: v.At("changes"), Notice: n,
	}
	// The principal of a person has no list of permissions; the route's right decides.
	view.Approvable = seen.Approvable && v.May(shell.ActivatePolicies)
	view.Withdrawing = view.Pending && seen.Own && v.May(shell.ActivatePolicies)
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
		view.Simulation = c.PolicyPages.SimulationOf(v, *seen.Simulation)
	}
	return v.Page(status, "change.html", view.What, "changes", view)
}

// versionChange shows the version to activate as its own page does.
func (c *Pages) versionChange(v *shell.Visit, r *change.View, view *changeView) error {
	after, err := c.Actions.Version(v.Context, v.Scope(), r.Target, r.PolicyVersion)
	if shell.IsAbsent(err) { // the action was archived
		return nil
	}
	if err != nil {
		return err
	}
	var before models.PolicyVersion
	if r.Replaces > 0 {
		if before, err = c.Actions.Version(v.Context, v.Scope(), r.Target, r.Replaces); err != nil {
			return err
		}
	}
	all, err := policies.Differences(before, after)
	if err != nil {
		return err
	}
	view.Differences = policies.ChangedOnly(all)
	contents, err := policies.ContentsOf(after)
	view.Contents = &contents
	return err
}

func target(v *shell.Visit, r *change.View) show.Item {
	switch r.Kind {
	case models.ChangePolicyActivate:
		return show.Item{Label: "policy", URL: v.At("policies", r.Target, strconv.Itoa(r.PolicyVersion))}
	case models.ChangeActionMode:
		return show.Item{Label: "policy", URL: v.At("policies", r.Target)}
	case models.ChangeTeamCreate, models.ChangeTeamUpdate, models.ChangeTeamDelete:
		return show.Item{Label: "teams", URL: v.At("teams")}
	case models.ChangeListEntries, models.ChangeListDelete:
		return show.Item{Label: "list", URL: v.At("lists", r.Target)}
	case models.ChangeWebhookUpdate:
		return show.Item{Label: "endpoint", URL: v.At("webhooks", r.Target)}
	default:
		return show.Item{}
	}
}

// becameOf returns the notice for the user's last form. It states only what the change request confirms: a URL can be made up.
func becameOf(done string, r *change.View) *show.Notice {
	switch {
	case done == "requested" && r.Status == models.ChangePending && r.Own:
		return &show.Notice{Tone: "good", Text: "The change is requested. It waits for a second approver, and nothing is changed yet."}
	case done == "requested" && r.Status == models.ChangePending:
		return &show.Notice{Tone: "warn", Text: "The same change was requested before and still waits. Your request is not an approval; approve it below."}
	case done == "" || done != string(r.Status):
		return nil
	case r.Status == models.ChangeApproved:
		return &show.Notice{Tone: "good", Text: "The change is approved and has taken effect."}
	case r.Status == models.ChangeRejected:
		return &show.Notice{Tone: "good", Text: "The change is rejected. Nothing was changed."}
	case r.Status == models.ChangeWithdrawn:
		return &show.Notice{Tone: "good", Text: "The change is withdrawn. Nothing was changed."}
	default:
		return nil
	}
}

// decideChange approves, rejects or withdraws a change request. It shows a refusal on the page of the change request.
func (c *Pages) decideChange(v *shell.Visit) error {
	resolution := v.Form("resolution")
	if !slices.Contains([]string{change.Approve, change.Reject, change.Withdraw}, resolution) {
		return problem.New(problem.BadRequest, "resolution must be approve, reject or withdraw.")
	}
	done, err := c.Decider.Decide(v.Context, v.Principal(), v.Param("id"), resolution, v.Reason())
	if p := problem.As(err); p != nil && p.Code != problem.NotFound {
		request.SetProblemCode(v.Ctx, p.Code)
		return c.showChange(v, problem.Of(p.Code).Status, &show.Notice{Tone: "bad", Text: p.Detail})
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.At("changes", done.ID)+"?done="+string(done.Status), fiber.StatusSeeOther)
}

// explainChange sets the reason of the user's own change request.
func (c *Pages) explainChange(v *shell.Visit) error {
	if err := c.Changes.Explain(v.Context, v.Principal(), v.Param("id"), v.Reason()); err != nil {
		return err
	}
	return v.Back("changes", v.Param("id"))
}

func (c *Pages) changesExport(v *shell.Visit) (listexport.List, error) {
	by := v.Principal()
	return listexport.List{
		Name:    "changes",
		Columns: []string{"id", "change", "action", "status", "requested_by", "requested_at", "expires_at", "resolved_by", "resolved_at"},
		Source: func(ctx context.Context, cursor string) ([][]any, string, error) {
			rows, next, err := c.Changes.List(ctx, by, change.Filter{}, pg.Page{Limit: listexport.Batch, After: cursor})
			out := make([][]any, len(rows))
			for i, r := range rows {
				out[i] = []any{r.ID, whatChanges(r), r.Action, string(r.Status), r.ProposedBy, r.CreatedAt, r.ExpiresAt, r.ResolvedBy, r.ResolvedAt}
			}
			return out, next, err
		},
	}, nil
}

// waitingChanges counts the pending change requests; nil if counting fails, which does not fail the page.
func (c *Pages) waitingChanges(v *shell.Visit) *int64 {
	n, err := c.Changes.Pending(v.Context, v.Scope())
	if err != nil {
		return nil
	}
	return &n
}
