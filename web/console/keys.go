package console

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

type keyRow struct {
	models.Credential
	State    tag
	Issuer   actor
	CountsAs actor // the principal
	Created  stamp
	LastUsed *stamp
	Expires  *stamp
	Asks     []ask // empty without the right, and for a revoked key
}

type keysView struct {
	Rows   []keyRow
	Next   string
	New    string // URL; empty without the right
	Export exportLinks
}

// keys lists the API keys of the environment.
func (c *console) keys(v *visit) error {
	rows, next, err := c.Credentials.List(v.ctx, v.scope(), pg.Page{Limit: listPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	var issuers []string
	for _, r := range rows {
		issuers = append(issuers, r.IssuedBy(), r.Principal)
	}
	names, err := c.Reader.Names(v.ctx, v.grant.Environment.TenantID, issuers)
	if err != nil {
		return err
	}
	view := keysView{Export: v.exports(nil, "keys")}
	var owned map[string]bool
	if v.may(ChangeKeys) {
		if owned, err = c.Credentials.Owned(v.ctx, v.scope(), v.principal().Actor(), rows); err != nil {
			return err
		}
		view.New = v.at("keys", "new")
	}
	under, err := c.resting(v, rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		row := c.keyRow(r, names)
		if v.may(ChangeKeys) && r.RevokedAt == nil {
			row.Asks = v.keyAsks(r, owned[r.ID])
			if rest := under[r.ID]; len(rest) > 0 {
				revoke := &row.Asks[len(row.Asks)-1]
				revoke.Text += " These keys depend on it and end too, unless you give them to a different key: " + keyNames(rest) + "."
				revoke.Give = heirs(rows, r, owned, c.Clock.Now())
			}
		}
		view.Rows = append(view.Rows, row)
	}
	if next != "" {
		view.Next = v.at("keys") + "?cursor=" + url.QueryEscape(next)
	}
	return v.page(fiber.StatusOK, "keys.html", "API keys", "keys", view)
}

// resting returns the keys that rest on each of the listed ones, by id.
func (c *console) resting(v *visit, rows []models.Credential) (map[string][]models.Credential, error) {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	all, err := c.Credentials.Under(v.ctx, v.scope(), ids...)
	out := map[string][]models.Credential{}
	for _, k := range all {
		for _, id := range k.Issuers {
			out[id] = append(out[id], k)
		}
	}
	return out, err
}

// heirs are the listed keys that the user may give the keys that rest on a revoked one: their own, or those of its principal.
func heirs(rows []models.Credential, revoked models.Credential, owned map[string]bool, now time.Time) []option {
	out := []option{{"", "end too"}}
	for _, k := range rows {
		mine := owned[k.ID] || k.Principal == revoked.Principal
		if mine && k.ID != revoked.ID && k.Scope == models.ScopeAdmin && k.Lives(now) && !slices.Contains(k.Issuers, revoked.ID) {
			out = append(out, option{k.ID, "are given to " + keyNames([]models.Credential{k})})
		}
	}
	return out
}

// keyNames lists keys as a person knows them: by name and preview.
func keyNames(keys []models.Credential) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = strings.TrimSpace(k.Name + " " + k.Preview)
	}
	return strings.Join(out, ", ")
}

func (c *console) keyRow(r models.Credential, names map[string]string) keyRow {
	now := stamps{c.Clock.Now()}
	return keyRow{
		Credential: r, State: keyState(r, now.now), Issuer: actorOf(r.IssuedBy(), names), CountsAs: actorOf(r.Principal, names), Created: now.at(r.CreatedAt),
		LastUsed: now.maybe(r.LastUsedAt), Expires: now.maybe(r.End()),
	}
}

func keyState(r models.Credential, now time.Time) tag {
	switch {
	case r.RevokedAt != nil:
		return tag{"revoked", "bad"}
	case r.ExpiresAt != nil && !now.Before(*r.ExpiresAt):
		return tag{"expired", "warn"}
	case !r.Lives(now):
		return tag{"lapsed", "warn"}
	default:
		return tag{"active", "good"}
	}
}
