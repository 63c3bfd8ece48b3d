package console

import (
	"errors"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/problem"

	"github.com/countersign-dev/countersign/internal/transport/request"
)

// teamBody is the body of createTeam and updateTeam.
type teamBody struct {
	Key     string    `json:"key"`
	Name    *string   `json:"name"`
	Members *[]string `json:"members"`
}

// changer is the user as the author of a change that may wait for a second approver.
func (v *visit) changer() change.By {
	return change.By{Actor: v.principal().Actor(), RequestID: request.ID(v.Ctx)}
}

// memberOptions are those who may review, and the members of the team, who may no longer.
func (c *console) memberOptions(v *visit, t team.View) ([]option, error) {
	able, err := c.Teams.Candidates(v.ctx, v.scope())
	if err != nil {
		return nil, err
	}
	names, err := c.memberNames(v, t)
	var out []option
	for _, n := range able {
		out = append(out, option{n.Actor, memberLabel(n)})
	}
	for _, m := range t.Members {
		if !slices.ContainsFunc(out, func(o option) bool { return o.Value == m.Actor }) {
			out = append(out, option{m.Actor, memberLabel(team.Named{Actor: m.Actor, Name: names[m.Actor]}) + " (cannot review)"})
		}
	}
	return out, err
}

// memberLabel is a possible member in words. Two people may have one name, and a key may have none: its id follows.
func memberLabel(n team.Named) string {
	kind, id, _ := strings.Cut(n.Actor, ":")
	if kind == "credential" {
		return strings.TrimSpace("API key " + n.Name + " " + short(id))
	}
	return n.Name
}

func (c *console) teamForm(v *visit, t team.View) (form, error) {
	options, err := c.memberOptions(v, t)
	members := make([]string, len(t.Members))
	for i, m := range t.Members {
		members[i] = m.Actor
	}
	hint := "Everyone who can review here: people with the role reviewer, and API keys with the permission review."
	if len(options) == 0 {
		hint = "No one may review here yet. Give a person the role reviewer first; the team can begin without members."
	}
	return form{
		Section: "teams", Heading: "New team", To: v.at("teams", "new"), Submit: "Create the team", Confirmed: true, Operation: "createTeam",
		Back: item{Label: "Teams", URL: v.at("teams")}, Second: v.grant.Environment.SecondApproverRequired,
		Intro: "Policies name a team by its key. An approval counts while its reviewer is in the team.",
		Fields: []field{
			{Name: "key", Label: "Key", Kind: oneLine, Value: t.Key, Required: true, Hint: "Lower-case letters, digits and underscores, such as finance. It cannot be changed."},
			{Name: "name", Label: "Name", Kind: oneLine, Value: t.Name, Required: true, Hint: "1 to 120 characters, shown at holds."},
			{Name: "members", Label: "Members", Kind: someOf, Options: options, Chosen: members, Sent: true, Hint: hint},
		},
	}, err
}

func (c *console) newTeam(v *visit) error {
	f, err := c.teamForm(v, team.View{})
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, f)
}

func (c *console) createTeam(v *visit) error {
	f, err := c.teamForm(v, team.View{})
	if err != nil {
		return err
	}
	return submitted(v, f, func(in teamBody) error {
		made, err := c.Changes.CreateTeam(v.ctx, v.scope(), v.changer(), team.Draft{Key: in.Key, Name: *in.Name, Members: *in.Members})
		return v.changed(made.Requested, err, v.at("teams")+"?done=saved")
	})
}

// editTeamForm is the form of an existing team. Its key is fixed, so that policies do not lose it.
func (c *console) editTeamForm(v *visit) (team.View, form, error) {
	t, err := c.Teams.Get(v.ctx, v.scope(), v.param("id"))
	if err != nil {
		return t, form{}, err
	}
	f, err := c.teamForm(v, t)
	f.Operation, f.Heading, f.To, f.Submit, f.Fields, f.Partial = "updateTeam", t.Name, v.at("teams", t.ID), "Save the team", f.Fields[1:], true
	f.Intro = "Policies name this team " + t.Key + ". A new member counts for the holds that are pending as well."
	f.Asks = []ask{{ID: "delete", Label: "Delete", To: v.at("teams", t.ID, "delete"), Verb: "delete it", Danger: true,
		Text: "A team that an active policy or a pending hold requires cannot be deleted."}}
	return t, f, err
}

func (c *console) editTeam(v *visit) error {
	_, f, err := c.editTeamForm(v)
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, f)
}

func (c *console) updateTeam(v *visit) error {
	t, f, err := c.editTeamForm(v)
	if err != nil {
		return err
	}
	return submitted(v, f, func(in teamBody) error {
		made, err := c.Changes.UpdateTeam(v.ctx, v.scope(), v.changer(), t.ID, team.Update{Name: in.Name, Members: in.Members})
		return v.changed(made.Requested, err, v.at("teams")+"?done=saved")
	})
}

// deleteTeam deletes a team. A refusal is shown on its form, with what still requires it.
func (c *console) deleteTeam(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	made, err := c.Changes.DeleteTeam(v.ctx, v.scope(), v.changer(), v.param("id"))
	if p := problem.As(err); p != nil && p.Code == problem.Conflict {
		_, f, shown := c.editTeamForm(v)
		if shown != nil {
			return errors.Join(err, shown)
		}
		f.blame(p)
		request.SetProblemCode(v.Ctx, p.Code)
		return v.showForm(problem.Of(p.Code).Status, f)
	}
	return v.changed(made.Requested, err, v.at("teams")+"?done=deleted")
}
