package teams

import (
	"errors"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// memberOptions are those who may review, and the members of the team, who may no longer.
func (c *Pages) memberOptions(v *shell.Visit, t team.View) ([]forms.Option, error) {
	able, err := c.Teams.Candidates(v.Context, v.Scope())
	if err != nil {
		return nil, err
	}
	names, err := c.memberNames(v, t)
	var out []forms.Option
	for _, n := range able {
		out = append(out, forms.Option{Value: n.Actor, Label: memberLabel(n)})
	}
	for _, m := range t.Members {
		if !slices.ContainsFunc(out, func(o forms.Option) bool { return o.Value == m.Actor }) {
			out = append(out, forms.Option{Value: m.Actor, Label: memberLabel(team.Named{Actor: m.Actor, Name: names[m.Actor]}) + " (cannot review)"})
		}
	}
	return out, err
}

// memberLabel is a possible member in words. Two people may have one name, and a key may have none: its id follows.
func memberLabel(n team.Named) string {
	kind, id, _ := strings.Cut(n.Actor, ":")
	if kind == "credential" {
		return strings.TrimSpace("API key " + n.Name + " " + show.Short(id))
	}
	return n.Name
}

func (c *Pages) teamForm(v *shell.Visit, t team.View) (forms.Form, error) {
	options, err := c.memberOptions(v, t)
	members := make([]string, len(t.Members))
	for i, m := range t.Members {
		members[i] = m.Actor
	}
	hint := "Everyone who can review here: people with the role reviewer, and API keys with the permission review."
	if len(options) == 0 {
		hint = "No one may review here yet. Give a person the role reviewer first; the team can begin without members."
	}
	return forms.Form{
		Section: "teams", Heading: "New team", To: v.At("teams", "new"), Submit: "Create the team", Confirmed: true, Operation: "createTeam",
		Back: show.Item{Label: "Teams", URL: v.At("teams")}, Second: v.Grant.Environment.SecondApproverRequired,
		Intro: "Policies name a team by its key. An approval counts while its reviewer is in the team.",
		Fields: []forms.Field{
			{Name: "key", Label: "Key", Kind: forms.OneLine, Value: t.Key, Required: true, Hint: "Lower-case letters, digits and underscores, such as finance. It cannot be changed."},
			{Name: "name", Label: "Name", Kind: forms.OneLine, Value: t.Name, Required: true, Hint: "1 to 120 characters, shown at holds."},
			{Name: "members", Label: "Members", Kind: forms.SomeOf, Options: options, Chosen: members, Sent: true, Hint: hint},
		},
	}, err
}

func (c *Pages) newTeam(v *shell.Visit) error {
	f, err := c.teamForm(v, team.View{})
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) createTeam(v *shell.Visit) error {
	f, err := c.teamForm(v, team.View{})
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in wire.TeamCreate) error {
		made, err := c.Changes.CreateTeam(v.Context, v.Scope(), v.Changer(), team.Draft{Key: in.Key, Name: in.Name, Members: in.Members})
		return v.Changed(made.Requested, err, v.At("teams")+"?done=saved")
	})
}

// editTeamForm is the form of an existing team. Its key is fixed, so that policies do not lose it.
func (c *Pages) editTeamForm(v *shell.Visit) (team.View, forms.Form, error) {
	t, err := c.Teams.Get(v.Context, v.Scope(), v.Param("id"))
	if err != nil {
		return t, forms.Form{}, err
	}
	f, err := c.teamForm(v, t)
	f.Operation, f.Heading, f.To, f.Submit, f.Fields, f.Partial = "updateTeam", t.Name, v.At("teams", t.ID), "Save the team", f.Fields[1:], true
	f.Intro = "Policies name this team " + t.Key + ". A new member counts for the holds that are pending as well."
	f.Asks = []forms.Ask{{ID: "delete", Label: "Delete", To: v.At("teams", t.ID, "delete"), Verb: "delete it", Danger: true,
		Text: "A team that an active policy or a pending hold requires cannot be deleted."}}
	return t, f, err
}

func (c *Pages) editTeam(v *shell.Visit) error {
	_, f, err := c.editTeamForm(v)
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) updateTeam(v *shell.Visit) error {
	t, f, err := c.editTeamForm(v)
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in wire.TeamUpdate) error {
		made, err := c.Changes.UpdateTeam(v.Context, v.Scope(), v.Changer(), t.ID, team.Update{Name: in.Name, Members: in.Members})
		return v.Changed(made.Requested, err, v.At("teams")+"?done=saved")
	})
}

// deleteTeam deletes a team. A refusal is shown on its form, with what still requires it.
func (c *Pages) deleteTeam(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	made, err := c.Changes.DeleteTeam(v.Context, v.Scope(), v.Changer(), v.Param("id"))
	if p := problem.As(err); p != nil && p.Code == problem.Conflict {
		_, f, shown := c.editTeamForm(v)
		if shown != nil {
			return errors.Join(err, shown)
		}
		f.Blame(p)
		request.SetProblemCode(v.Ctx, p.Code)
		return forms.Show(v, problem.Of(p.Code).Status, f)
	}
	return v.Changed(made.Requested, err, v.At("teams")+"?done=deleted")
}
