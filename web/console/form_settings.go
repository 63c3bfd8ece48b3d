package console

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pagetexts"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func (v *visit) settingsForm(e models.Environment) form {
	f := form{
		Operation: "updateEnvironment", Section: "settings", Heading: "Settings", To: v.at("settings"), Submit: "Save", Confirmed: true, Multipart: true,
		Partial: true, Second: e.SecondApproverRequired, Locked: !v.may(ChangeSettings),
		Intro: "The " + string(e.Kind) + " environment of " + e.RPName + ". Its passkeys belong to the RP ID " + e.RPID + ", which cannot be changed.",
	}
	f.Fields = settingFields(e)
	return f
}

// settingFields returns a field for each setting, under its question. Rules of passkeys follow the addresses at which they are
// used, and the brand follows the name.
func settingFields(e models.Environment) []field {
	usual := models.DefaultSettings(e.Kind)
	var out []field
	for _, s := range models.DeclaredSettings {
		out = append(out, declaredField(s, e, &usual))
		switch s.Name {
		case "rp_name":
			out = append(out, brandFields(e.Brand)...)
		case "origins":
			out = append(out, passkeyFields(e.Passkeys)...)
		}
	}
	return out
}

// declaredField returns the field of a declared setting. Usual has the default of the environment's kind.
func declaredField(s models.Setting, e models.Environment, usual *models.Settings) field {
	f := field{Name: s.Name, Heading: s.Question, Label: s.Label, Hint: strings.ReplaceAll(s.Hint, "{rp_id}", e.RPID), Sent: !s.Kept}
	for _, c := range s.Choices {
		f.Options = append(f.Options, option{c.Value, c.Text})
	}
	f.Kind, f.Value = settingText(s, &e.Settings)
	if f.Kind != oneLine && f.Kind != lines {
		f.Sent = false
		_, f.Default = settingText(s, usual)
	}
	f.Required = !s.Kept && (f.Kind == number || f.Kind == duration)
	return f
}

// settingText returns the control of a setting and its value in it.
func settingText(s models.Setting, of *models.Settings) (kind, string) {
	switch value := s.Value(of).(type) {
	case *bool:
		return yesNo, strconv.FormatBool(*value)
	case *int:
		if s.Duration {
			return duration, durationText(*value)
		}
		return number, itoa(*value)
	case *models.Strings:
		return lines, strings.Join(*value, "\n")
	case **string:
		if *value == nil {
			return oneLine, ""
		}
		return oneLine, **value
	case *models.BackgroundChoice:
		return choice, string(*value)
	case *string:
		return oneLine, *value
	default:
		panic("console: no control for the setting " + s.Name)
	}
}

// attestations are the choices of attestation with their effect.
var attestations = []option{
	{models.AttestationNone, "none: the model that an authenticator states is not verified"},
	{models.AttestationRequired, "required: an authenticator proves its model with a certificate below"},
}

func passkeyFields(r models.PasskeyRules) []field {
	attestation := r.Attestation
	if attestation == "" {
		attestation = models.AttestationNone
	}
	roots := certificatesOf(strings.ReplaceAll(strings.Join(r.AttestationRoots, "\n"), "\r\n", "\n"))
	return []field{
		{Name: "passkeys.rp_ids", Label: "Other RP IDs", Kind: lines, Value: strings.Join(r.RPIDs, "\n"), Sent: true,
			Hint: "One host name on each line. Passkeys of a removed RP ID stay registered and cannot be used."},
		{Name: "passkeys.related_origins", Label: "Other sites that may use the passkeys", Kind: lines, Value: strings.Join(r.RelatedOrigins, "\n"), Sent: true,
			Hint: "One https address on each line. Browsers read them from /.well-known/webauthn of the RP ID."},
		{Name: "passkeys.attestation", Label: "Proof of a passkey's model", Kind: choice, Value: attestation, Options: attestations, Default: models.AttestationNone},
		{Name: "passkeys.attestation_roots", Label: "Certificates of accepted manufacturers or models", Kind: pems, Value: strings.Join(roots, "\n"), Sent: true, Rows: 6,
			Hint: "In PEM, one after the other."},
		{Name: "passkeys.aaguids", Label: "Models that may be registered", Kind: lines, Value: strings.Join(r.AAGUIDs, "\n"), Sent: true,
			Hint: "One AAGUID on each line, such as ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4; empty for all."},
	}
}

func brandFields(b models.Brand) []field {
	languages := append([]option{{"", "English"}}, options(pagetexts.Languages()...)...)
	logo := "A PNG of 16 to 1024 pixels a side and at most 32 KiB. None is set."
	if len(b.Logo) > 0 {
		logo = "A PNG of 16 to 1024 pixels a side and at most 32 KiB. One is set; a new file replaces it."
	}
	return []field{
		{Name: "brand.name", Label: "Name on the hosted pages", Kind: oneLine, Value: b.Name, Sent: true, Hint: "Empty for the name above."},
		{Name: "brand.accent", Label: "Colour of buttons and links", Kind: oneLine, Value: b.Accent, Sent: true, Hint: "Such as #0f5c5c, with a contrast of 4.5:1 on a light page."},
		{Name: "brand.language", Label: "Language if the hosted pages do not have the user's", Kind: choice, Value: b.Language, Sent: true, Options: languages},
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
		if len(in) == 0 {
			return problem.New(problem.BadRequest, "Nothing was changed: every setting is as before.")
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
