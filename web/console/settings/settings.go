package settings

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pagetexts"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

func settingsForm(v *shell.Visit, e models.Environment) forms.Form {
	f := forms.Form{
		Operation: "updateEnvironment", Section: "settings", Heading: "Settings", To: v.At("settings"), Submit: "Save", Confirmed: true, Multipart: true,
		Partial: true, Second: e.SecondApproverRequired, Locked: !v.May(shell.ManageConfig),
		Intro: "The " + string(e.Kind) + " environment of " + e.RPName + ". Its passkeys belong to the RP ID " + e.RPID + ", which cannot be changed.",
	}
	f.Fields = settingFields(e)
	return f
}

// settingFields returns a field for each setting, under its question. Rules of passkeys follow the addresses at which they are
// used, and the brand follows the name.
func settingFields(e models.Environment) []forms.Field {
	usual := models.DefaultSettings(e.Kind)
	var out []forms.Field
	for _, s := range models.DeclaredSettings {
		out = append(out, declaredField(s, e, &usual))
		switch s.Name {
		case "rp_name":
			out = append(out, brandFields(e.Brand)...)
		case "holidays":
			out = append(out, forms.Field{
				Name: "holidays_file", Label: "Days without work from a calendar file", Kind: forms.Picture, Accept: ".ics,text/calendar",
				Hint: "An iCalendar file: its whole-day events replace the days above.",
			})
		case "origins":
			out = append(out, passkeyFields(e.Passkeys)...)
		}
	}
	return out
}

// declaredField returns the field of a declared setting. Usual has the default of the environment's kind.
func declaredField(s models.Setting, e models.Environment, usual *models.Settings) forms.Field {
	f := forms.Field{Name: s.Name, Heading: s.Question, Label: s.Label, Hint: strings.ReplaceAll(s.Hint, "{rp_id}", e.RPID), Sent: !s.Kept}
	for _, c := range s.Choices {
		f.Options = append(f.Options, forms.Option{Value: c.Value, Label: c.Text})
	}
	f.Kind, f.Value = settingText(s, &e.Settings)
	if f.Kind != forms.OneLine && f.Kind != forms.Lines {
		f.Sent = false
		_, f.Default = settingText(s, usual)
	}
	f.Required = !s.Kept && (f.Kind == forms.Number || f.Kind == forms.Duration)
	return f
}

// settingText returns the control of a setting and its value in it.
func settingText(s models.Setting, of *models.Settings) (forms.Kind, string) {
	switch value := s.Value(of).(type) {
	case *bool:
		return forms.YesNo, strconv.FormatBool(*value)
	case *int:
		if s.Duration {
			return forms.Duration, show.Duration(*value)
		}
		return forms.Number, strconv.Itoa(*value)
	case *models.Strings:
		return forms.Lines, strings.Join(*value, "\n")
	case **string:
		if *value == nil {
			return forms.OneLine, ""
		}
		return forms.OneLine, **value
	case *models.BackgroundChoice:
		return forms.Choice, string(*value)
	case *string:
		return forms.OneLine, *value
	default:
		panic("console: no control for the setting " + s.Name)
	}
}

// attestations are the choices of attestation with their effect.
var attestations = []forms.Option{
	{Value: models.AttestationNone, Label: "none: the model that an authenticator states is not verified"},
	{Value: models.AttestationRequired, Label: "required: an authenticator proves its model with a certificate below"},
}

func passkeyFields(r models.PasskeyRules) []forms.Field {
	attestation := r.Attestation
	if attestation == "" {
		attestation = models.AttestationNone
	}
	roots := forms.Certificates(strings.ReplaceAll(strings.Join(r.AttestationRoots, "\n"), "\r\n", "\n"))
	return []forms.Field{
		{Name: "passkeys.rp_ids", Label: "Other RP IDs", Kind: forms.Lines, Value: strings.Join(r.RPIDs, "\n"), Sent: true,
			Hint: "One host name on each line. Passkeys of a removed RP ID stay registered and cannot be used."},
		{Name: "passkeys.related_origins", Label: "Other sites that may use the passkeys", Kind: forms.Lines, Value: strings.Join(r.RelatedOrigins, "\n"), Sent: true,
			Hint: "One https address on each line. Browsers read them from /.well-known/webauthn of the RP ID."},
		{Name: "passkeys.attestation", Label: "Proof of a passkey's model", Kind: forms.Choice, Value: attestation, Options: attestations, Default: models.AttestationNone},
		{Name: "passkeys.attestation_roots", Label: "Certificates of accepted manufacturers or models", Kind: forms.Pems, Value: strings.Join(roots, "\n"), Sent: true, Rows: 6,
			Hint: "In PEM, one after the other."},
		{Name: "passkeys.aaguids", Label: "Models that may be registered", Kind: forms.Lines, Value: strings.Join(r.AAGUIDs, "\n"), Sent: true,
			Hint: "One AAGUID on each line, such as ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4; empty for all."},
	}
}

func brandFields(b models.Brand) []forms.Field {
	languages := append([]forms.Option{{Value: "", Label: "English"}}, forms.Options(pagetexts.Languages()...)...)
	logo := "A PNG of 16 to 1024 pixels a side and at most 32 KiB. None is set."
	if len(b.Logo) > 0 {
		logo = "A PNG of 16 to 1024 pixels a side and at most 32 KiB. One is set; a new file replaces it."
	}
	return []forms.Field{
		{Name: "brand.name", Label: "Name on the hosted pages", Kind: forms.OneLine, Value: b.Name, Sent: true, Hint: "Leave empty to use the name above."},
		{Name: "brand.accent", Label: "Colour of buttons and links", Kind: forms.OneLine, Value: b.Accent, Sent: true, Hint: "Such as #0f5c5c, with a contrast of 4.5:1 on a light page."},
		{Name: "brand.language", Label: "Fallback language of the hosted pages", Kind: forms.Choice, Value: b.Language, Sent: true, Options: languages},
		{Name: "brand.logo", Label: "Logo", Kind: forms.Picture, Hint: logo},
	}
}

func (c *Pages) settings(v *shell.Visit) error {
	e, err := c.Tenancy.Environment(v.Context, v.Scope())
	if err != nil {
		return err
	}
	f := settingsForm(v, e)
	if v.Query("done") == "saved" {
		f.Notice = &show.Notice{Tone: "good", Text: "The settings are saved."}
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) updateSettings(v *shell.Visit) error {
	e, err := c.Tenancy.Environment(v.Context, v.Scope())
	if err != nil {
		return err
	}
	return forms.Submitted(v, settingsForm(v, e), func(in tenancy.Settings) error {
		if len(in) == 0 {
			return problem.New(problem.BadRequest, "Nothing was changed: every setting is as before.")
		}
		made, err := c.Changes.UpdateSettings(v.Context, v.Principal(), in)
		if err != nil {
			return err
		}
		if made.Requested != nil {
			return v.Redirect(v.At("changes", made.Requested.ID)+"?done=requested", fiber.StatusSeeOther)
		}
		return v.Redirect(v.At("settings")+"?done=saved", fiber.StatusSeeOther)
	})
}
