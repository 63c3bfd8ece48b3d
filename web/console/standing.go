package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/models"
)

// wantedLine has the approvals that a hold requires of one team, or of any reviewers.
type wantedLine struct {
	Team      string // name
	Key       string // empty for approvals that any reviewer may give
	Given     int
	Approvals int
	By        []actor // who gave them
	// Escalation is the team that may approve as well from EscalatesAt on; empty for none.
	Escalation  string
	EscalatesAt *stamp
	Escalated   bool
}

// standingView is whose approvals a hold requires and what the user can add.
type standingView struct {
	Lines []wantedLine // empty for a hold that requires no team
	// May says for whom the user may approve, in words; Why why they may not. Both are empty for one who reviews nothing here.
	May, Why string
}

// standing describes the approvals of the open hold.
func (c *console) standing(v *visit, h *models.Hold) (standingView, hold.Standing, error) {
	s, err := c.Holds.Standing(v.ctx, v.principal(), h.AuthorizationID)
	if err != nil {
		return standingView{}, s, err
	}
	var view standingView
	names, people := map[string]string{}, map[string]string{}
	if len(s.Teams) > 0 {
		if names, err = c.Teams.Names(v.ctx, v.scope()); err != nil {
			return view, s, err
		}
		actors := append([]string{s.Absent}, s.Others.By...)
		for _, t := range s.Teams {
			actors = append(actors, t.By...)
		}
		if people, err = c.Teams.MemberNames(v.ctx, v.scope(), actors); err != nil {
			return view, s, err
		}
		for _, t := range s.Teams {
			view.Lines = append(view.Lines, c.wantedLine(t, names, people))
		}
		if s.Others.Approvals > 0 {
			view.Lines = append(view.Lines, c.wantedLine(s.Others, names, people))
		}
	}
	if v.may(Review) && hold.Effective(*h, c.Clock.Now()) == models.HoldPending {
		view.describe(s, names, people)
	}
	return view, s, nil
}

func (c *console) wantedLine(t hold.TeamStanding, names, people map[string]string) wantedLine {
	line := wantedLine{
		Team: cmp.Or(names[t.Group], t.Group, "Any reviewer"), Key: t.Group, Given: t.Given, Approvals: t.Approvals, Escalated: t.Escalated,
	}
	for _, by := range t.By {
		line.By = append(line.By, named(by, people))
	}
	if t.EscalatesTo != nil {
		line.Escalation = cmp.Or(names[*t.EscalatesTo], *t.EscalatesTo)
		line.EscalatesAt = stamps{c.Clock.Now()}.read(t.EscalatesAt)
	}
	return line
}

// describe says whether the user may approve. Everyone who may review may reject.
func (view *standingView) describe(s hold.Standing, names, people map[string]string) {
	of := make([]string, len(s.As))
	for i, key := range s.As {
		of[i] = cmp.Or(names[key], key)
	}
	teams := strings.Join(slices.Compact(of), " and ")
	switch {
	case s.Obstacle == hold.ObstacleSelf:
		view.Why = "You cannot review this hold: the request is yours, and no one may approve their own request."
	case s.Obstacle == hold.ObstacleUnconfirmed:
		view.Why = "You cannot approve this hold: it needs two people, and no second operator had confirmed your account when it was opened. You can reject it."
	case s.Obstacle == hold.ObstacleTeam:
		view.Why = "Only members of these teams, or the deputy of an absent member, can approve this hold. You can reject it."
	case s.Obstacle == hold.ObstacleGiven && len(s.Teams) > 0:
		view.Why = "You have approved this hold. The remaining approvals must come from others."
	case s.Absent != "":
		view.May = "You can approve for " + teams + ", as the deputy of " + named(s.Absent, people).Name + "."
	case teams != "":
		view.May = "You can approve for " + teams + "."
	}
}

// teamsOf describes what a hold of the queue requires of teams, such as "Finance 0 of 1". names are those of the teams, by key.
func teamsOf(wanted []hold.Wanted, names map[string]string) []string {
	var out []string
	for _, w := range wanted {
		text := cmp.Or(names[w.Group], w.Group) + " " + itoa(w.Given) + " of " + itoa(w.Approvals)
		if w.Escalated && w.Given < w.Approvals {
			text += ", escalated to " + cmp.Or(names[*w.EscalatesTo], *w.EscalatesTo)
		}
		out = append(out, text)
	}
	return out
}
