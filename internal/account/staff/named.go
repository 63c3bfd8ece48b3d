package staff

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Named returns the id of the person of the tenant whom a text names: by their id, by the id that the company's directory or identity provider gives
// them, or by an e-mail address that is confirmed as theirs. It is empty for no one, for someone without access, and for several who count as
// different people.
func Named(ctx context.Context, q *pg.Q, keys *keyring.Keyring, tenant, text string) (string, error) {
	ids := []string{text}
	if strings.Contains(text, "@") {
		rows, err := addressesOfTenant(ctx, q, tenant)
		if err != nil {
			return "", err
		}
		for _, row := range rows {
			if row.ConfirmedAt == nil {
				continue
			}
			address, err := OpenAddress(keys, row)
			if err != nil {
				return "", err
			}
			if strings.EqualFold(address, text) {
				ids = append(ids, row.PersonID)
			}
		}
	}
	people, err := peopleNamed(ctx, q, tenant, ids, text)
	if err != nil {
		return "", err
	}
	var found, principals []string
	for _, p := range people {
		if p.RevokedAt != nil {
			continue
		}
		found = append(found, p.ID)
		if !slices.Contains(principals, p.CountsAs()) {
			principals = append(principals, p.CountsAs())
		}
	}
	if len(principals) != 1 {
		return "", nil
	}
	return found[0], nil
}
