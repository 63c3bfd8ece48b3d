package keys

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// issuer returns the user as the issuer of keys.
func issuer(v *shell.Visit) *identity.Principal {
	p := v.Principal().Issuer(v.Grant.Roles)
	return &p
}

func keyForm(v *shell.Visit) forms.Form {
	return forms.Form{
		Operation: "createCredential", Section: "keys", Heading: "New API key", To: v.At("keys", "new"), Submit: "Issue the key", Confirmed: true,
		Back:  show.Item{Label: "API keys", URL: v.At("keys")},
		Intro: "The key is shown once, on the next page. Its scope and permissions cannot be changed.",
		Fields: []forms.Field{
			{Name: "name", Label: "Name", Kind: forms.OneLine, Required: true, Hint: "The program that uses it."},
			{Name: "scope", Label: "Scope", Value: string(models.ScopeServer), Options: []forms.Option{
				{Value: "server", Label: "server: a backend"}, {Value: "admin", Label: "admin: settings, webhooks, keys"}, {Value: "client", Label: "client: publishable, reads meta only"},
			}},
			{Name: "permissions", Label: "Permissions", Kind: forms.SomeOf, Options: forms.Options(models.Issuable(v.Grant.Roles).Strings()...),
				Hint: "config, webhooks, credentials and audit require the scope admin; a client key has none."},
			{Name: "rate_limit", Label: "Requests an hour", Hint: "Leave empty for the environment's default."},
			{Name: "expires_at", Label: "Expires (UTC)", Hint: "Leave empty for no expiry."},
		},
	}
}

func (c *Pages) newKey(v *shell.Visit) error { return forms.Show(v, fiber.StatusOK, keyForm(v)) }

func (c *Pages) issueKey(v *shell.Visit) error {
	return forms.Submitted(v, keyForm(v), func(in wire.CredentialCreate) error {
		p := v.Principal()
		issued, err := c.Credentials.Issue(v.Context, p.Store(), identity.Issue{
			Scope: models.Scope(in.Scope), Permissions: in.Permissions, Name: in.Name, RateLimit: in.RateLimit, ExpiresAt: in.ExpiresAt.Time(), Issuer: issuer(v),
		}, p.Actor(), p.RequestID)
		if err != nil {
			return err
		}
		return showKey(v, "The key is issued", issued)
	})
}

func showKey(v *shell.Visit, heading string, issued identity.Issued) error {
	return forms.ShowSecret(v, "keys", forms.Secret{
		Heading: heading, Label: "API key", Text: issued.Key, Onward: show.Item{Label: "All keys", URL: v.At("keys")},
		Warning: "The key is shown this once. Store it in the secrets of the program that uses it.",
	})
}

func (c *Pages) rotateKey(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	overlap, err := forms.Overlap(v)
	if err != nil {
		return err
	}
	p := v.Principal()
	rotation := identity.Rotation{ID: v.Param("id"), Overlap: overlap, Issuer: issuer(v)}
	issued, err := c.Credentials.Rotate(v.Context, p.Store(), rotation, p.Actor(), p.RequestID)
	if err != nil {
		return err
	}
	return showKey(v, "The key is rotated", issued)
}

func (c *Pages) revokeKey(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	p := v.Principal()
	in := identity.Revocation{ID: v.Param("id"), ChildrenTo: v.Form("children_to"), Caller: &p}
	if err := c.Credentials.Revoke(v.Context, p.Store(), in, p.Actor(), p.RequestID); err != nil {
		return err
	}
	return v.Back("keys")
}

// keyAsks are the changes of a key; owned says that its principal is the user. A key that the user may not rotate has no such button.
func keyAsks(v *shell.Visit, k models.Credential, owned bool) []forms.Ask {
	revoke := forms.Ask{ID: "revoke-" + k.ID, Label: "Revoke", To: v.At("keys", k.ID, "revoke"), Verb: "revoke it", Danger: true,
		Text: "Requests with this key, and with client tokens that it issued, are refused immediately. This cannot be undone."}
	rotates := k.Scope == models.ScopeClient || owned && models.Issuable(v.Grant.Roles).Covers(k.Permissions)
	if !rotates {
		return []forms.Ask{revoke}
	}
	return []forms.Ask{{ID: "rotate-" + k.ID, Label: "Rotate", To: v.At("keys", k.ID, "rotate"), Verb: "rotate it", Overlap: true,
		Text: "The credential gets a new key, which is shown once."}, revoke}
}
