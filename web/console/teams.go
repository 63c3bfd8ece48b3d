package console

import (
	"cmp"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
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
	Who     actor
	Lost    bool // may no longer review
	Deputy  string
	Returns *stamp // end of the deputyship
}

// requiredLine says that an active policy requires the team, or that the approvals of a different team are escalated to it.
type requiredLine struct {
	URL, Action string // URL is empty without the right
	What        string
}

// deputyRow is a deputyship that has not ended.
type deputyRow struct {
	Absent, Deputy actor
	From, Until    stamp
	Begun          bool
	Withdraw       *ask // nil for one that is not the user's
}

// teamsView is the page of the teams and deputies.
type teamsView struct {
	Rows     []teamRow
	Next     string
	New      string // URL; empty without the right
	Second   bool   // changes wait for a second approver
	Deputies []deputyRow
	Name     string // URL of the form that names a deputy; empty without the right
	Notice   *notice
}

func (c *console) teams(v *visit) error {
	rows, next, err := c.Teams.List(v.ctx, v.scope(), pg.Page{Limit: listPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view := teamsView{Second: v.grant.Environment.SecondApproverRequired, Notice: teamsNotice(v.query("done"))}
	if view.Rows, err = c.teamRows(v, rows); err != nil {
		return err
	}
	if view.Deputies, err = c.deputies(v); err != nil {
		return err
	}
	if v.may(ChangeTeams) {
		view.New = v.at("teams", "new")
	}
	if v.may(Review) {
		view.Name = v.at("deputies", "new")
	}
	if next != "" {
		view.Next = v.at("teams") + "?cursor=" + url.QueryEscape(next)
	}
	return v.page(fiber.StatusOK, "teams.html", "Teams", "teams", view)
}

// teamsNotice says what became of the user's last form.
func teamsNotice(done string) *notice {
	switch done {
	case "saved":
		return &notice{"good", "The team is saved. Its members count from now on, for pending holds as well."}
	case "deleted":
		return &notice{"good", "The team is deleted."}
	case "named":
		return &notice{"good", "The deputy is named."}
	case "withdrawn":
		return &notice{"good", "The deputyship has ended. What the deputy approved before still counts."}
	default:
		return nil
	}
}

func (c *console) teamRows(v *visit, rows []team.View) ([]teamRow, error) {
	names, err := c.Teams.Names(v.ctx, v.scope())
	if err != nil {
		return nil, err
	}
	loads, err := c.Teams.Loads(v.ctx, v.scope())
	if err != nil {
		return nil, err
	}
	people, err := c.memberNames(v, rows...)
	out := make([]teamRow, len(rows))
	for i, r := range rows {
		load := loads[r.Key]
		out[i] = teamRow{Team: r.Team, Waiting: load.Holds.Waiting, Escalated: load.Holds.Escalated}
		if v.may(ChangeTeams) {
			out[i].URL = v.at("teams", r.ID)
		}
		for _, m := range r.Members {
			out[i].Members = append(out[i].Members, c.memberLine(m, people))
		}
		for _, t := range load.Requirements {
			out[i].Required = append(out[i].Required, v.requiredLine(t, requires(t, names)))
		}
		for _, t := range load.Escalations {
			what := "after " + span(time.Duration(t.AfterSeconds)*time.Second) + " for " + cmp.Or(names[t.Team], t.Team)
			out[i].Required = append(out[i].Required, v.requiredLine(t, what))
		}
	}
	return out, err
}

// memberNames returns the names of the members of teams and of their deputies, by actor.
func (c *console) memberNames(v *visit, rows ...team.View) (map[string]string, error) {
	var actors []string
	for _, r := range rows {
		for _, m := range r.Members {
			actors = append(actors, m.Actor)
			if m.Deputy != nil {
				actors = append(actors, "person:"+m.Deputy.DeputyID)
			}
		}
	}
	return c.Teams.MemberNames(v.ctx, v.scope(), actors)
}

// named returns an actor with its name: names is by actor.
func named(raw string, names map[string]string) actor {
	out := actorOf(raw, nil)
	out.Name = cmp.Or(names[raw], out.Name)
	return out
}

func (c *console) memberLine(m team.Member, names map[string]string) memberLine {
	line := memberLine{Who: named(m.Actor, names), Lost: !m.Reviews}
	if m.Deputy != nil {
		until := stamp{m.Deputy.EndsAt, c.Clock.Now()}
		line.Deputy, line.Returns = named("person:"+m.Deputy.DeputyID, names).Name, &until
	}
	return line
}

func (v *visit) requiredLine(t team.Requirement, what string) requiredLine {
	line := requiredLine{Action: t.Action, What: what}
	if v.may(SeePolicies) {
		line.URL = v.at("policies", t.ActionID)
	}
	return line
}

// requires says what a policy requires of a team. names are those of the teams, by key.
func requires(t team.Requirement, names map[string]string) string {
	what := itoa(t.Approvals) + " approvals"
	if t.Approvals == 1 {
		what = "1 approval"
	}
	if t.EscalateTeam != "" {
		what += ", after " + span(time.Duration(t.AfterSeconds)*time.Second) + " " + cmp.Or(names[t.EscalateTeam], t.EscalateTeam) + " as well"
	}
	return what
}

// deputies lists the deputyships that have not ended.
func (c *console) deputies(v *visit) ([]deputyRow, error) {
	rows, err := c.Teams.Deputies(v.ctx, v.scope())
	if err != nil {
		return nil, err
	}
	var actors []string
	for _, d := range rows {
		actors = append(actors, "person:"+d.PersonID, "person:"+d.DeputyID)
	}
	names, err := c.Teams.MemberNames(v.ctx, v.scope(), actors)
	now := stamps{c.Clock.Now()}
	out := make([]deputyRow, len(rows))
	for i, d := range rows {
		out[i] = deputyRow{
			Absent: named("person:"+d.PersonID, names), Deputy: named("person:"+d.DeputyID, names), From: now.at(d.StartsAt), Until: now.at(d.EndsAt),
			Begun: !now.now.Before(d.StartsAt),
		}
		if d.PersonID == v.session.Person.ID && v.may(Review) {
			out[i].Withdraw = &ask{ID: "withdraw-" + d.ID, Label: "Withdraw", To: v.at("deputies", d.ID, "withdraw"), Verb: "withdraw it", Danger: true,
				Text: "The deputyship ends now. What the deputy approved before still counts."}
		}
	}
	return out, err
}
