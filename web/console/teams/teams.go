package teams

import (
	"cmp"
	"net/url"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// teamRow is one team with its members and what is required of it.
type teamRow struct {
	models.Team
	URL      string // empty without the right
	Members  []memberLine
	Required []requiredLine
	// Escalated are holds whose approvals were escalated to the team.
	Waiting, Escalated int64
}

// memberLine is one member of a team.
type memberLine struct {
	Who     show.Actor
	Lost    bool // may no longer review
	Deputy  string
	Returns *show.Stamp // end of the deputyship
}

// requiredLine says that an active policy requires the team, or that the approvals of a different team are escalated to it.
type requiredLine struct {
	URL, Action string // URL is empty without the right
	What        string
}

// deputyRow is a deputyship that has not ended.
type deputyRow struct {
	Absent, Deputy show.Actor
	From, Until    show.Stamp
	Begun          bool
	Withdraw       *forms.Ask // nil for one that is not the user's
}

// teamsView is the page of the teams and deputies.
type teamsView struct {
	Rows     []teamRow
	Next     string
	New      string // URL; empty without the right
	Second   bool   // changes wait for a second approver
	Deputies []deputyRow
	Name     string // URL of the form that names a deputy; empty without the right
	Notice   *show.Notice
}

func (c *Pages) teams(v *shell.Visit) error {
	rows, next, err := c.Teams.List(v.Context, v.Scope(), pg.Page{Limit: shell.ListPage, After: v.Query("cursor")})
	if err != nil {
		return shell.CursorFault(err)
	}
	view := teamsView{Second: v.Grant.Environment.SecondApproverRequired, Notice: teamsNotice(v.Query("done"))}
	if view.Rows, err = c.teamRows(v, rows); err != nil {
		return err
	}
	if view.Deputies, err = c.deputies(v); err != nil {
		return err
	}
	if v.May(shell.ActivatePolicies) {
		view.New = v.At("teams", "new")
	}
	if v.May(shell.Review) {
		view.Name = v.At("deputies", "new")
	}
	if next != "" {
		view.Next = v.At("teams") + "?cursor=" + url.QueryEscape(next)
	}
	return v.Page(fiber.StatusOK, "teams.html", "Teams", "teams", view)
}

// teamsNotice says what became of the user's last form.
func teamsNotice(done string) *show.Notice {
	switch done {
	case "saved":
		return &show.Notice{Tone: "good", Text: "The team is saved. Its members count from now on, for pending holds as well."}
	case "deleted":
		return &show.Notice{Tone: "good", Text: "The team is deleted."}
	case "named":
		return &show.Notice{Tone: "good", Text: "The deputy is named."}
	case "withdrawn":
		return &show.Notice{Tone: "good", Text: "The deputyship has ended. What the deputy approved before still counts."}
	default:
		return nil
	}
}

func (c *Pages) teamRows(v *shell.Visit, rows []team.View) ([]teamRow, error) {
	names, err := c.Teams.Names(v.Context, v.Scope())
	if err != nil {
		return nil, err
	}
	loads, err := c.Teams.Loads(v.Context, v.Scope())
	if err != nil {
		return nil, err
	}
	people, err := c.memberNames(v, rows...)
	out := make([]teamRow, len(rows))
	for i, r := range rows {
		load := loads[r.Key]
		out[i] = teamRow{Team: r.Team, Waiting: load.Holds.Waiting, Escalated: load.Holds.Escalated}
		if v.May(shell.ActivatePolicies) {
			out[i].URL = v.At("teams", r.ID)
		}
		for _, m := range r.Members {
			out[i].Members = append(out[i].Members, c.memberLine(m, people))
		}
		for _, t := range load.Requirements {
			out[i].Required = append(out[i].Required, requiredOf(v, t, requires(t, names)))
		}
		for _, t := range load.Escalations {
			what := "after " + show.Span(time.Duration(t.AfterSeconds)*time.Second) + " for " + cmp.Or(names[t.Team], t.Team)
			out[i].Required = append(out[i].Required, requiredOf(v, t, what))
		}
	}
	return out, err
}

// memberNames returns the names of the members of teams and of their deputies, by actor.
func (c *Pages) memberNames(v *shell.Visit, rows ...team.View) (map[string]string, error) {
	var actors []string
	for _, r := range rows {
		for _, m := range r.Members {
			actors = append(actors, m.Actor)
			if m.Deputy != nil {
				actors = append(actors, "person:"+m.Deputy.DeputyID)
			}
		}
	}
	return c.Teams.MemberNames(v.Context, v.Scope(), actors)
}

func (c *Pages) memberLine(m team.Member, names map[string]string) memberLine {
	line := memberLine{Who: show.Named(m.Actor, names), Lost: !m.Reviews}
	if m.Deputy != nil {
		until := show.Stamp{Time: m.Deputy.EndsAt, Now: c.Clock.Now()}
		line.Deputy, line.Returns = show.Named("person:"+m.Deputy.DeputyID, names).Name, &until
	}
	return line
}

func requiredOf(v *shell.Visit, t team.Requirement, what string) requiredLine {
	line := requiredLine{Action: t.Action, What: what}
	if v.May(shell.ReadConfig) {
		line.URL = v.At("policies", t.ActionID)
	}
	return line
}

// requires says what a policy requires of a team. names are those of the teams, by key.
func requires(t team.Requirement, names map[string]string) string {
	what := strconv.Itoa(t.Approvals) + " approvals"
	if t.Approvals == 1 {
		what = "1 approval"
	}
	if t.EscalateTeam != "" {
		what += ", after " + show.Span(time.Duration(t.AfterSeconds)*time.Second) + " " + cmp.Or(names[t.EscalateTeam], t.EscalateTeam) + " as well"
	}
	return what
}

// deputies lists the deputyships that have not ended.
func (c *Pages) deputies(v *shell.Visit) ([]deputyRow, error) {
	rows, err := c.Teams.Deputies(v.Context, v.Scope())
	if err != nil {
		return nil, err
	}
	var actors []string
	for _, d := range rows {
		actors = append(actors, "person:"+d.PersonID, "person:"+d.DeputyID)
	}
	names, err := c.Teams.MemberNames(v.Context, v.Scope(), actors)
	now := show.Stamps{Now: c.Clock.Now()}
	out := make([]deputyRow, len(rows))
	for i, d := range rows {
		out[i] = deputyRow{
			Absent: show.Named("person:"+d.PersonID, names), Deputy: show.Named("person:"+d.DeputyID, names), From: now.At(d.StartsAt), Until: now.At(d.EndsAt),
			Begun: !now.Now.Before(d.StartsAt),
		}
		if d.PersonID == v.Session.Person.ID && v.May(shell.Review) {
			out[i].Withdraw = &forms.Ask{ID: "withdraw-" + d.ID, Label: "Withdraw", To: v.At("deputies", d.ID, "withdraw"), Verb: "withdraw it", Danger: true,
				Text: "The deputyship ends now. What the deputy approved before still counts."}
		}
	}
	return out, err
}
