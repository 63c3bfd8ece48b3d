package reviews

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/people"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// wantedLine has the approvals that a hold requires of one team, or of any reviewers.
type wantedLine struct {
	Team      string // name
	Key       string // empty for approvals that any reviewer may give
	Given     int
	Approvals int
	By        []show.Actor // who gave them
	// Escalation is the team that may approve as well from EscalatesAt on; empty for none.
	Escalation  string
	EscalatesAt *show.Stamp
	Escalated   bool
}

// standingView is whose approvals a hold requires and what the user can add.
type standingView struct {
	Steps []stepLine   // empty for a hold without steps
	Step  string       // the name of the open one, which an approval is for
	Lines []wantedLine // of the open step; empty if it requires no team
	// Hours says which hours the times of the hold count; empty for all.
	Hours string
	// May says for whom the user may approve, in words; Why why they may not. Both are empty for one who reviews nothing here.
	May, Why string
}

// stepLine is one step of a hold.
type stepLine struct {
	Name            string
	State           string // see hold.Stage
	Given, Required int
	Due             *show.Stamp // nil for a step that is not open yet
}

// standing describes the approvals of the open hold.
func (c *Pages) standing(v *shell.Visit, h *models.Hold) (standingView, hold.Standing, error) {
	s, err := c.Holds.Standing(v.Context, v.Principal(), h.AuthorizationID)
	if err != nil {
		return standingView{}, s, err
	}
	view := standingView{Step: s.Step, Hours: hoursWords(h, v.Grant.Environment)}
	for _, at := range s.Stages {
		line := stepLine{Name: at.Name, State: at.State, Given: at.Approvals.Given, Required: at.Approvals.Required}
		if at.State == hold.StageOpen {
			line.Due = show.Stamps{Now: c.Clock.Now()}.Read(at.DueAt)
		}
		view.Steps = append(view.Steps, line)
	}
	names, persons := map[string]string{}, map[string]string{}
	if len(s.Teams) > 0 {
		if names, err = c.Teams.Names(v.Context, v.Scope()); err != nil {
			return view, s, err
		}
		actors := append([]string{s.Absent}, s.Others.By...)
		for _, t := range s.Teams {
			actors = append(actors, t.By...)
			if t.Approver != nil && t.Approver.Person != nil {
				actors = append(actors, "person:"+*t.Approver.Person)
			}
		}
		if persons, err = c.Teams.MemberNames(v.Context, v.Scope(), actors); err != nil {
			return view, s, err
		}
		for _, t := range s.Teams {
			view.Lines = append(view.Lines, c.wantedLine(t, names, persons))
		}
		if s.Others.Approvals > 0 {
			view.Lines = append(view.Lines, c.wantedLine(s.Others, names, persons))
		}
	}
	if v.May(shell.Review) && hold.Effective(*h, c.Clock.Now()) == models.HoldPending {
		view.describe(s, names, persons)
	}
	return view, s, nil
}

// hoursWords says that the times of a hold count working hours, in the zone of the calendar.
func hoursWords(h *models.Hold, e models.Environment) string {
	switch {
	case !h.WorkingHours:
		return ""
	case tenancy.Calendar(e.Settings) == nil:
		return "The policy counts working hours, and the environment has no calendar: the time of a step that opens now counts all hours."
	default:
		return "Times count working hours (" + e.WorkingZone + "), as they were set when the step opened."
	}
}

func (c *Pages) wantedLine(t hold.TeamStanding, names, persons map[string]string) wantedLine {
	line := wantedLine{
		Team: cmp.Or(names[t.Group], t.Group, "Any reviewer"), Key: t.Group, Given: t.Given, Approvals: t.Approvals, Escalated: t.Escalated,
	}
	if a := t.Approver; a != nil {
		line.Team = fallbackWords(line.Team, *a)
		if a.Person != nil {
			line.Team = persons["person:"+*a.Person] + ", " + namedWords(a.NamedBy)
		}
	}
	for _, by := range t.By {
		line.By = append(line.By, show.Named(by, persons))
	}
	if t.EscalatesTo != nil {
		line.Escalation = cmp.Or(names[*t.EscalatesTo], *t.EscalatesTo)
		line.EscalatesAt = show.Stamps{Now: c.Clock.Now()}.Read(t.EscalatesAt)
	}
	return line
}

// namedWords says who the person is that a request names.
func namedWords(by string) string {
	if by == policy.ManagerOfRequester {
		return "manager of the requester"
	}
	return show.Plain(strings.TrimPrefix(by, people.FieldPrefix))
}

// fallbackWords says that a team approves in the place of the person whom a request names, and why.
func fallbackWords(team string, a hold.NamedApprover) string {
	out := team + ", for the " + namedWords(a.NamedBy)
	if a.Reason == nil {
		return out
	}
	if entry, ok := reason.Lookup(*a.Reason); ok {
		return out + ". " + entry.Description
	}
	return out
}

// describe says whether the user may approve. Everyone who may review may reject.
func (view *standingView) describe(s hold.Standing, names, persons map[string]string) {
	of := make([]string, len(s.As))
	for i, key := range s.As {
		if of[i] = names[key]; of[i] == "" {
			of[i] = "the " + namedWords(key)
		}
	}
	teams := strings.Join(slices.Compact(of), " and ")
	switch {
	case s.Obstacle == hold.ObstacleSelf:
		view.Why = "You cannot review this hold: the request is yours, and no one may approve their own request."
	case s.Obstacle == hold.ObstacleUnconfirmed:
		view.Why = "You cannot approve this hold: it needs two people, and no second operator had confirmed your account when it was opened. You can reject it."
	case s.Obstacle == hold.ObstacleTeam:
		view.Why = "Only members of these teams, or the deputy of an absent member, can approve this hold. You can reject it."
	case s.Obstacle == hold.ObstacleStep:
		view.Why = "You approved an earlier step of this hold. This step needs someone else. You can reject it."
	case s.Obstacle == hold.ObstacleGiven:
		view.Why = "You approved this hold. The remaining approvals must come from others. You can still reject it."
	case s.Absent != "":
		view.May = "You can approve for " + teams + ", as the deputy of " + show.Named(s.Absent, persons).Name + "."
	case teams != "":
		view.May = "You can approve for " + teams + "."
	}
}

// teamsOf describes what a hold of the queue requires of teams, such as "Finance 0 of 1". names are those of the teams, by key.
func teamsOf(wanted []hold.Wanted, names map[string]string) []string {
	var out []string
	for _, w := range wanted {
		text := cmp.Or(names[w.Of()], names[w.Group], w.Group)
		if w.Of() != w.Group {
			text = show.Capital(namedWords(w.Of()))
		}
		text += " " + strconv.Itoa(w.Given) + " of " + strconv.Itoa(w.Approvals)
		if w.Escalated && w.Given < w.Approvals {
			text += ", escalated to " + cmp.Or(names[*w.EscalatesTo], *w.EscalatesTo)
		}
		out = append(out, text)
	}
	return out
}
