package console

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func (v *visit) settingsForm(e models.Environment) form {
	f := form{
		Operation: "updateEnvironment", Section: "settings", Heading: "Settings", To: v.at("settings"), Submit: "Save", Confirmed: true, Multipart: true,
		Partial: true, Second: e.SecondApproverRequired, Locked: !v.may(ChangeSettings),
		Intro: "Settings of the " + string(e.Kind) + " environment of " + e.RPName + " (RP ID " + e.RPID + ").",
	}
	f.Fields = append(nameFields(e), timeFields(e)...)
	f.Fields = append(f.Fields, guardFields(e)...)
	f.Fields = append(f.Fields, brandFields(e.Brand)...)
	return f
}

func nameFields(e models.Environment) []field {
	page := ""
	if e.PageOrigin != nil {
		page = *e.PageOrigin
	}
	return []field{
		{Name: "rp_name", Label: "Name shown to users", Kind: oneLine, Value: e.RPName, Required: true},
		{Name: "origins", Label: "Origins on which passkeys are used", Kind: lines, Value: strings.Join(e.RPOrigins, "\n"), Required: true, Sent: true,
			Hint: "One on each line: https with the host " + e.RPID + " or a subdomain."},
		{Name: "page_origin", Label: "Origin of links to hosted pages", Kind: oneLine, Value: page, Sent: true, Hint: "One of the origins above; empty for the service's own."},
		{Name: "return_origins", Label: "Further origins that hosted pages link back to", Kind: lines, Value: strings.Join(e.ReturnOrigins, "\n"), Sent: true},
		{Name: "frame_ancestors", Label: "Origins that may embed hosted pages in a frame", Kind: lines, Value: strings.Join(e.FrameAncestors, "\n"), Sent: true},
	}
}

func timeFields(e models.Environment) []field {
	return []field{
		{Name: "challenge_ttl_seconds", Label: "Life of a challenge (seconds)", Kind: number, Value: itoa(e.ChallengeTTLSeconds), Required: true, Hint: "30 to 900, for new challenges."},
		{Name: "hold_ttl_seconds", Label: "Life of a hold (seconds)", Kind: number, Value: itoa(e.HoldTTLSeconds), Required: true, Hint: "60 to 2592000, for new holds."},
		{Name: "change_ttl_seconds", Label: "Life of a change request (seconds)", Kind: number, Value: itoa(e.ChangeTTLSeconds), Required: true, Hint: "300 to 2592000, for new requests."},
	}
}

// backgrounds are the choices of the background with their effect.
var backgrounds = []option{
	{string(models.BackgroundPrior), "prior: the stated model; nothing is learned"},
	{string(models.BackgroundOwn), "own: learned from people who enroll here"},
	{string(models.BackgroundShared), "shared: learned with every environment that shares; it contains sums over your people"},
}

func guardFields(e models.Environment) []field {
	return []field{
		{Name: "bar_self_review", Label: "No one reviews a hold that they requested", Kind: yesNo, Value: strconv.FormatBool(e.BarSelfReview)},
		{Name: "second_approver_required", Label: "Activations, modes and these settings wait for a second approver", Kind: yesNo, Value: strconv.FormatBool(e.SecondApproverRequired)},
		{Name: "background", Label: "What people are compared with", Kind: choice, Value: string(e.Background), Options: backgrounds,
			Hint: "A change to prior deletes what the environment has learned."},
		{Name: "enrollment_grant_required", Label: "Enrollment frames require a client token with the purpose enroll", Kind: yesNo, Value: strconv.FormatBool(e.EnrollmentGrantRequired)},
	}
}

func brandFields(b models.Brand) []field {
	languages := append([]option{{"", "as the browser asks, else English"}}, options(tenancy.PageLanguages...)...)
	logo := "A PNG of 16 to 1024 pixels a side and at most 32 KiB. None is set."
	if len(b.Logo) > 0 {
		logo = "A PNG of 16 to 1024 pixels a side and at most 32 KiB. One is set; a new file replaces it."
	}
	return []field{
		{Name: "brand.name", Label: "Name on hosted pages", Kind: oneLine, Value: b.Name, Sent: true},
		{Name: "brand.accent", Label: "Colour of buttons and links", Kind: oneLine, Value: b.Accent, Sent: true, Hint: "Such as #0f5c5c, with a contrast of 4.5:1 on a light page."},
		{Name: "brand.language", Label: "Language of users whose languages the pages do not have", Kind: choice, Value: b.Language, Sent: true, Options: languages},
		{Name: "brand.logo", Label: "Logo", Kind: picture, Hint: logo},
	}
}

func (c *console) settings(v *visit) error {
	e, err := c.Tenancy.Environment(v.ctx, v.scope())
	if err != nil {
		return err
	}
	f := v.settingsForm(e)
	if v.query("done") == "saved" {
		f.Notice = &notice{"good", "The settings are saved."}
	}
	return v.showForm(fiber.StatusOK, f)
}

func (c *console) updateSettings(v *visit) error {
	e, err := c.Tenancy.Environment(v.ctx, v.scope())
	if err != nil {
		return err
	}
	return submitted(v, v.settingsForm(e), func(in tenancy.Settings) error {
		if in.Empty() {
			return problem.New(problem.BadRequest, "No setting differs from its value in force.")
		}
		made, err := c.Changes.UpdateSettings(v.ctx, v.principal(), in)
		if err != nil {
			return err
		}
		if made.Requested != nil {
			return v.Redirect(v.at("changes", made.Requested.ID)+"?done=requested", fiber.StatusSeeOther)
		}
		return v.Redirect(v.at("settings")+"?done=saved", fiber.StatusSeeOther)
	})
}
