package console

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/models"
)

// credentialBody is the body of createCredential.
type credentialBody struct {
	Scope       models.Scope       `json:"scope"`
	Permissions models.Permissions `json:"permissions"`
	Name        string             `json:"name"`
	RateLimit   *int               `json:"rate_limit"`
	ExpiresAt   *time.Time         `json:"expires_at"`
}

// issuer returns the user as the issuer of keys.
func (v *visit) issuer() *identity.Principal {
	p := v.principal().Issuer(v.grant.Roles)
	return &p
}

func (v *visit) keyForm() form {
	return form{
		Operation: "createCredential", Section: "keys", Heading: "New API key", To: v.at("keys", "new"), Submit: "Issue the key", Confirmed: true,
		Back:  item{Label: "API keys", URL: v.at("keys")},
		Intro: "The key is shown once, on the next page. Its scope and permissions cannot be changed.",
		Fields: []field{
			{Name: "name", Label: "Name", Kind: oneLine, Required: true, Hint: "The program that uses it."},
			{Name: "scope", Label: "Scope", Kind: choice, Value: string(models.ScopeServer), Required: true, Options: []option{
				{"server", "server: a backend"}, {"admin", "admin: settings, webhooks, keys"}, {"client", "client: publishable, reads meta only"},
			}},
			{Name: "permissions", Label: "Permissions", Kind: someOf, Options: options(models.Issuable(v.grant.Roles).Strings()...),
				Hint: "config, webhooks, credentials and audit require the scope admin; a client key has none."},
			{Name: "rate_limit", Label: "Requests an hour", Kind: number, Hint: "Empty for the environment's default."},
			{Name: "expires_at", Label: "Expires (UTC)", Kind: moment, Hint: "Empty for never."},
		},
	}
}

func (c *console) newKey(v *visit) error { return v.showForm(fiber.StatusOK, v.keyForm()) }

func (c *console) issueKey(v *visit) error {
	return submitted(v, v.keyForm(), func(in credentialBody) error {
		p := v.principal()
		issued, err := c.Credentials.Issue(v.ctx, p.Store(), identity.Issue{
			Scope: in.Scope, Permissions: in.Permissions, Name: in.Name, RateLimit: in.RateLimit, ExpiresAt: in.ExpiresAt, Issuer: v.issuer(),
		}, p.Actor(), p.RequestID)
		if err != nil {
			return err
		}
		return v.showKey("The key is issued", issued)
	})
}

func (v *visit) showKey(heading string, issued identity.Issued) error {
	return v.showSecret("keys", secretView{
		Heading: heading, Label: "API key", Secret: issued.Key, Onward: item{Label: "All keys", URL: v.at("keys")},
		Warning: "The key is shown this once. Store it in the secrets of the program that uses it.",
	})
}

func (c *console) rotateKey(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	overlap, err := v.overlap()
	if err != nil {
		return err
	}
	p := v.principal()
	rotation := identity.Rotation{ID: v.param("id"), Overlap: overlap, Issuer: v.issuer()}
	issued, err := c.Credentials.Rotate(v.ctx, p.Store(), rotation, p.Actor(), p.RequestID)
	if err != nil {
		return err
	}
	return v.showKey("The key is rotated", issued)
}

func (c *console) revokeKey(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	p := v.principal()
	in := identity.Revocation{ID: v.param("id"), ChildrenTo: v.form("children_to"), Caller: &p}
	if err := c.Credentials.Revoke(v.ctx, p.Store(), in, p.Actor(), p.RequestID); err != nil {
		return err
	}
	return v.back("keys")
}

// keyAsks are the changes of a key; owned says that its principal is the user. A key that the user may not rotate has no such button.
func (v *visit) keyAsks(k models.Credential, owned bool) []ask {
	revoke := ask{ID: "revoke-" + k.ID, Label: "Revoke", To: v.at("keys", k.ID, "revoke"), Verb: "revoke it", Danger: true,
		Text: "Requests with this key, and with client tokens that it issued, are refused immediately. This cannot be undone."}
	rotates := k.Scope == models.ScopeClient || owned && models.Issuable(v.grant.Roles).Covers(k.Permissions)
	if !rotates {
		return []ask{revoke}
	}
	return []ask{{ID: "rotate-" + k.ID, Label: "Rotate", To: v.at("keys", k.ID, "rotate"), Verb: "rotate it", Overlap: true,
		Text: "The credential gets a new key, which is shown once."}, revoke}
}
