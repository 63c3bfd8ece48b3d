package teams

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// absenceBody is the form of a deputyship; the API has no operation for it.
type absenceBody struct {
	Deputy   string     `json:"deputy"`
	StartsAt *time.Time `json:"starts_at"`
	EndsAt   time.Time  `json:"ends_at"`
}

// deputyForm offers the other reviewers: a key stands in for no one.
func (c *Pages) deputyForm(v *shell.Visit) (forms.Form, error) {
	able, err := c.Teams.Candidates(v.Context, v.Scope())
	var others []forms.Option
	for _, n := range able {
		if strings.HasPrefix(n.Actor, "person:") && n.Actor != v.Principal().Actor() {
			others = append(others, forms.Option{Value: strings.TrimPrefix(n.Actor, "person:"), Label: n.Name})
		}
	}
	hint := "A colleague with the role reviewer. They may approve for your teams; both of you together are one approval."
	if len(others) == 0 {
		hint = "No one else has the role reviewer here. An operator gives it."
	}
	return forms.Form{
		Section: "teams", Heading: "Name a deputy", To: v.At("deputies", "new"), Submit: "Name the deputy", Confirmed: true, Back: show.Item{Label: "Teams", URL: v.At("teams")},
		Intro: "While you are absent, your deputy may approve in your place.",
		Fields: []forms.Field{
			{Name: "deputy", Label: "Deputy", Kind: forms.Choice, Options: others, Required: true, Hint: hint},
			{Name: "starts_at", Label: "From (UTC)", Kind: forms.Moment, Hint: "Leave empty to start now."},
			{Name: "ends_at", Label: "Until (UTC)", Kind: forms.Moment, Required: true, Hint: "At most 90 days after the beginning. You can withdraw it earlier."},
		},
	}, err
}

func (c *Pages) newDeputy(v *shell.Visit) error {
	f, err := c.deputyForm(v)
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) nameDeputy(v *shell.Visit) error {
	f, err := c.deputyForm(v)
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in absenceBody) error {
		a := team.Absence{Person: v.Session.Person.ID, Deputy: in.Deputy, StartsAt: c.Clock.Now(), EndsAt: in.EndsAt}
		if in.StartsAt != nil {
			a.StartsAt = *in.StartsAt
		}
		if _, err := c.Teams.NameDeputy(v.Context, v.Scope(), stand(v), a); err != nil {
			return err
		}
		return v.Redirect(v.At("teams")+"?done=named", fiber.StatusSeeOther)
	})
}

// stand is the user as the absent person who names or withdraws a deputy.
func stand(v *shell.Visit) team.By {
	return team.By{Actor: v.Principal().Actor(), RequestID: request.ID(v.Ctx)}
}

func (c *Pages) withdrawDeputy(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	if err := c.Teams.WithdrawDeputy(v.Context, v.Scope(), stand(v), v.Session.Person.ID, v.Param("id")); err != nil {
		return err
	}
	return v.Redirect(v.At("teams")+"?done=withdrawn", fiber.StatusSeeOther)
}
