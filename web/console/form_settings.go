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
		Intro: "Settings of the " + string(e.Kind) + " environment of " + e.RPName + " (RP ID " + e.RPID + ").",
	}
	f.Fields = append(declaredFields(e), passkeyFields(e.Passkeys)...)
	f.Fields = append(f.Fields, brandFields(e.Brand)...)
	return f
}

// declaredFields returns a field for each setting that is declared.
func declaredFields(e models.Environment) []field {
	var out []field
	for _, s := range models.DeclaredSettings {
		f := field{Name: s.Name, Label: s.Label, Hint: strings.ReplaceAll(s.Hint, "{rp_id}", e.RPID), Sent: !s.Kept}
		for _, c := range s.Choices {
			f.Options = append(f.Options, option{c.Value, c.Text})
		}
		switch value := s.Value(&e.Settings).(type) {
		case *bool:
			f.Kind, f.Value, f.Sent = yesNo, strconv.FormatBool(*value), false
		case *int:
			f.Kind, f.Value, f.Sent, f.Required = number, itoa(*value), false, !s.Kept
		case *models.Strings:
			f.Kind, f.Value = lines, strings.Join(*value, "\n")
		case **string:
			f.Kind = oneLine
			if *value != nil {
				f.Value = **value
			}
		case *string:
			f.Kind, f.Value = oneLine, *value
		case *models.BackgroundChoice:
			f.Kind, f.Value, f.Sent = choice, string(*value), false
		}
		out = append(out, f)
	}
	return out
}

// attestations are the choices of attestation with their effect.
var attestations = []option{
	{models.AttestationNone, "none: an authenticator's own word is taken for its model"},
	{models.AttestationRequired, "required: an authenticator proves its model, up to one of the certificates below"},
}

func passkeyFields(r models.PasskeyRules) []field {
	attestation := r.Attestation
	if attestation == "" {
		attestation = models.AttestationNone
	}
	roots := certificatesOf(strings.ReplaceAll(strings.Join(r.AttestationRoots, "\n"), "\r\n", "\n"))
	return []field{
		{Name: "passkeys.rp_ids", Label: "Further RP IDs", Kind: lines, Value: strings.Join(r.RPIDs, "\n"), Sent: true,
			Hint: "One host name on each line. Passkeys of a removed RP ID stay registered and cannot be used."},
		{Name: "passkeys.related_origins", Label: "Origins of other sites that may use the passkeys", Kind: lines, Value: strings.Join(r.RelatedOrigins, "\n"), Sent: true,
			Hint: "One https origin on each line. Browsers read them from /.well-known/webauthn of the RP ID."},
		{Name: "passkeys.attestation", Label: "Attestation of new passkeys", Kind: choice, Value: attestation, Options: attestations},
		{Name: "passkeys.attestation_roots", Label: "Certificates that an attestation must lead to", Kind: pems, Value: strings.Join(roots, "\n"), Sent: true, Rows: 6,
			Hint: "In PEM, one after the other; of a manufacturer or of one model."},
		{Name: "passkeys.aaguids", Label: "Models of authenticators that may be registered", Kind: lines, Value: strings.Join(r.AAGUIDs, "\n"), Sent: true,
			Hint: "One AAGUID on each line, such as ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4; empty permits all."},
	}
}

func brandFields(b models.Brand) []field {
	languages := append([]option{{"", "as the browser asks, else English"}}, options(pagetexts.Languages()...)...)
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
		if len(in) == 0 {
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
