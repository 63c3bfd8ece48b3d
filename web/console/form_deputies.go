package console

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// absenceBody is the form of a deputyship; the API has no operation for it.
type absenceBody struct {
	Deputy   string     `json:"deputy"`
	StartsAt *time.Time `json:"starts_at"`
	EndsAt   time.Time  `json:"ends_at"`
}

// deputyForm offers the other reviewers: a key stands in for no one.
func (c *console) deputyForm(v *visit) (form, error) {
	able, err := c.Teams.Candidates(v.ctx, v.scope())
	var others []option
	for _, n := range able {
		if strings.HasPrefix(n.Actor, "person:") && n.Actor != v.principal().Actor() {
			others = append(others, option{strings.TrimPrefix(n.Actor, "person:"), n.Name})
		}
	}
	hint := "A colleague with the role reviewer. They may approve for your teams; both of you together are one approval."
	if len(others) == 0 {
		hint = "No one else has the role reviewer here. An operator gives it."
	}
	return form{
		Section: "teams", Heading: "Name a deputy", To: v.at("deputies", "new"), Submit: "Name the deputy", Confirmed: true, Back: item{Label: "Teams", URL: v.at("teams")},
		Intro: "While you are absent, your deputy may approve in your place.",
		Fields: []field{
			{Name: "deputy", Label: "Deputy", Kind: choice, Options: others, Required: true, Hint: hint},
			{Name: "starts_at", Label: "From (UTC)", Kind: moment, Hint: "Empty for now."},
			{Name: "ends_at", Label: "Until (UTC)", Kind: moment, Required: true, Hint: "At most 90 days after the beginning. You can withdraw it earlier."},
		},
	}, err
}

func (c *console) newDeputy(v *visit) error {
	f, err := c.deputyForm(v)
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, f)
}

func (c *console) nameDeputy(v *visit) error {
	f, err := c.deputyForm(v)
	if err != nil {
		return err
	}
	return submitted(v, f, func(in absenceBody) error {
		a := team.Absence{Person: v.session.Person.ID, Deputy: in.Deputy, StartsAt: c.Clock.Now(), EndsAt: in.EndsAt}
		if in.StartsAt != nil {
			a.StartsAt = *in.StartsAt
		}
		if _, err := c.Teams.NameDeputy(v.ctx, v.scope(), v.stand(), a); err != nil {
			return err
		}
		return v.Redirect(v.at("teams")+"?done=named", fiber.StatusSeeOther)
	})
}

// stand is the user as the absent person who names or withdraws a deputy.
func (v *visit) stand() team.By {
	return team.By{Actor: v.principal().Actor(), RequestID: request.ID(v.Ctx)}
}

func (c *console) withdrawDeputy(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	if err := c.Teams.WithdrawDeputy(v.ctx, v.scope(), v.stand(), v.session.Person.ID, v.param("id")); err != nil {
		return err
	}
	return v.Redirect(v.at("teams")+"?done=withdrawn", fiber.StatusSeeOther)
}
