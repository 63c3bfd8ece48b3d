package console

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/store"
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
	rows, next, err := c.Credentials.List(v.ctx, v.scope(), store.Page{Limit: listPage, After: v.query("cursor")})
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
	for _, r := range rows {
		row := c.keyRow(r, names)
		if v.may(ChangeKeys) && r.RevokedAt == nil {
			row.Asks = v.keyAsks(r, owned[r.ID])
		}
		view.Rows = append(view.Rows, row)
	}
	if next != "" {
		view.Next = v.at("keys") + "?cursor=" + url.QueryEscape(next)
	}
	return v.page(fiber.StatusOK, "keys.html", "API keys", "keys", view)
}

func (c *console) keyRow(r models.Credential, names map[string]string) keyRow {
	now := stamps{c.Clock.Now()}
	return keyRow{
		Credential: r, State: keyState(r, now.now), Issuer: actorOf(r.IssuedBy(), names), CountsAs: actorOf(r.Principal, names), Created: now.at(r.CreatedAt),
		LastUsed: now.maybe(r.LastUsedAt), Expires: now.maybe(r.ExpiresAt),
	}
}

func keyState(r models.Credential, now time.Time) tag {
	switch {
	case r.RevokedAt != nil:
		return tag{"revoked", "bad"}
	case r.ExpiresAt != nil && !now.Before(*r.ExpiresAt):
		return tag{"expired", "warn"}
	default:
		return tag{"active", "good"}
	}
}
