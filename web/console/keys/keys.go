package keys

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

func (c *Pages) keysExport(v *shell.Visit) (listexport.List, error) {
	scope, now := v.Scope(), c.Clock.Now()
	return listexport.List{
		Name:    "keys",
		Columns: []string{"id", "preview", "name", "state", "scope", "permissions", "created_by", "issued_by", "principal", "created_at", "last_used_at", "expires_at", "revoked_at"},
		Source: exports.Paged(func(ctx context.Context, p pg.Page) ([]models.Credential, string, error) {
			return c.Credentials.List(ctx, scope, p)
		},
			func(k models.Credential) []any {
				may := make([]string, len(k.Permissions))
				for i, one := range k.Permissions {
					may[i] = string(one)
				}
				return []any{k.ID, k.Preview, k.Name, keyState(k, now).Text, string(k.Scope), may, k.CreatedBy, k.IssuedBy(), k.Principal, k.CreatedAt, k.LastUsedAt, k.ExpiresAt, k.RevokedAt}
			}),
	}, nil
}

type keyRow struct {
	models.Credential
	State    show.Tag
	Issuer   show.Actor
	CountsAs show.Actor // the principal
	Created  show.Stamp
	LastUsed *show.Stamp
	Expires  *show.Stamp
	Asks     []forms.Ask // empty without the right, and for a revoked key
}

type keysView struct {
	shell.Paged
	Rows   []keyRow
	Export exports.Links
}

// keys lists the API keys of the environment.
func (c *Pages) keys(v *shell.Visit) error {
	rows, paged, err := shell.List(v, "keys", shell.ManageCredentials, func(p pg.Page) ([]models.Credential, string, error) {
		return c.Credentials.List(v.Context, v.Scope(), p)
	})
	if err != nil {
		return err
	}
	var issuers []string
	for _, r := range rows {
		issuers = append(issuers, r.IssuedBy(), r.Principal)
	}
	names, err := c.Reader.Names(v.Context, v.Grant.Environment.TenantID, issuers)
	if err != nil {
		return err
	}
	view := keysView{Paged: paged, Export: exports.Of(v, nil, "keys")}
	var owned map[string]bool
	if v.May(shell.ManageCredentials) {
		if owned, err = c.Credentials.Owned(v.Context, v.Scope(), v.Principal().Actor(), rows); err != nil {
			return err
		}
	}
	under, err := c.resting(v, rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		row := c.keyRow(r, names)
		if v.May(shell.ManageCredentials) && r.RevokedAt == nil {
			row.Asks = keyAsks(v, r, owned[r.ID])
			if rest := under[r.ID]; len(rest) > 0 {
				revoke := &row.Asks[len(row.Asks)-1]
				revoke.Text += " These keys depend on it and end too, unless you give them to a different key: " + Names(rest) + "."
				revoke.Give = heirs(rows, r, owned, c.Clock.Now())
			}
		}
		view.Rows = append(view.Rows, row)
	}
	return v.Page(fiber.StatusOK, "keys.html", "API keys", "keys", view)
}

// resting returns the keys that rest on each of the listed ones, by id.
func (c *Pages) resting(v *shell.Visit, rows []models.Credential) (map[string][]models.Credential, error) {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	all, err := c.Credentials.Under(v.Context, v.Scope(), ids...)
	out := map[string][]models.Credential{}
	for _, k := range all {
		for _, id := range k.Issuers {
			out[id] = append(out[id], k)
		}
	}
	return out, err
}

// heirs are the listed keys that the user may give the keys that rest on a revoked one: their own, or those of its principal.
func heirs(rows []models.Credential, revoked models.Credential, owned map[string]bool, now time.Time) []forms.Option {
	out := []forms.Option{{Value: "", Label: "end too"}}
	for _, k := range rows {
		mine := owned[k.ID] || k.Principal == revoked.Principal
		if mine && k.ID != revoked.ID && k.Scope == models.ScopeAdmin && k.Lives(now) && !slices.Contains(k.Issuers, revoked.ID) {
			out = append(out, forms.Option{Value: k.ID, Label: "are given to " + Names([]models.Credential{k})})
		}
	}
	return out
}

// Names lists keys as a person knows them: by name and preview.
func Names(keys []models.Credential) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = strings.TrimSpace(k.Name + " " + k.Preview)
	}
	return strings.Join(out, ", ")
}

func (c *Pages) keyRow(r models.Credential, names map[string]string) keyRow {
	now := show.Stamps{Now: c.Clock.Now()}
	return keyRow{
		Credential: r, State: keyState(r, now.Now), Issuer: show.ActorOf(r.IssuedBy(), names), CountsAs: show.ActorOf(r.Principal, names), Created: now.At(r.CreatedAt),
		LastUsed: now.Maybe(r.LastUsedAt), Expires: now.Maybe(r.End()),
	}
}

func keyState(r models.Credential, now time.Time) show.Tag {
	switch {
	case r.RevokedAt != nil:
		return show.Tag{Text: "revoked", Tone: "bad"}
	case r.ExpiresAt != nil && !now.Before(*r.ExpiresAt):
		return show.Tag{Text: "expired", Tone: "warn"}
	case !r.Lives(now):
		return show.Tag{Text: "lapsed", Tone: "warn"}
	default:
		return show.Tag{Text: "active", Tone: "good"}
	}
}
