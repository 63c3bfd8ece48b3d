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
	f.Fields = append(nameFields(e), timeFields(e)...)
	f.Fields = append(f.Fields, guardFields(e)...)
	f.Fields = append(f.Fields, reviewFields(e)...)
	f.Fields = append(f.Fields, passkeyFields(e.Passkeys)...)
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
			Hint: "One on each line: https with the host " + e.RPID + ", one of the further RP IDs below, or a subdomain; or android:apk-key-hash: with the digest of an Android app's certificate."},
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
		{Name: "federated_key_days", Label: "Days after which API keys of single sign-on staff lapse without a sign-in", Kind: number, Value: itoa(e.FederatedKeyDays), Hint: "0 to 3650; 0 is never. Empty keeps the value."},
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
		{Name: "second_approver_required", Label: "Activations, modes, teams and these settings wait for a second approver", Kind: yesNo, Value: strconv.FormatBool(e.SecondApproverRequired)},
		{Name: "background", Label: "What people are compared with", Kind: choice, Value: string(e.Background), Options: backgrounds,
			Hint: "A change to prior deletes what the environment has learned."},
		{Name: "enrollment_grant_required", Label: "Enrollment frames require a client token with the purpose enroll", Kind: yesNo, Value: strconv.FormatBool(e.EnrollmentGrantRequired)},
	}
}

func reviewFields(e models.Environment) []field {
	return []field{
		{Name: "review_notes", Label: "Colleagues can read the notes of reviews", Kind: yesNo, Value: strconv.FormatBool(e.ReviewNotes),
			Hint: "Notes are stored, sealed, from now on; they are exported and erased with the subject. Otherwise only their digests are stored."},
		{Name: "case_link", Label: "URL of a decision in your case system", Kind: oneLine, Value: e.CaseLink, Sent: true,
			Hint: "https, with {decision_id}, {subject} and {action} in its path or query; the console shows it at each decision."},
	}
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
