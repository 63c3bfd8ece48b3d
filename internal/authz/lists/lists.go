// Package lists manages the named lists of an environment, which the conditions of rules read: trusted payees, blocked devices,
// countries.
//
// The package decides nothing: internal/authz/rules evaluates `X in list("NAME")` with what Lookup finds. It may not store or log a
// value of a personal list, of which it stores keyed digests.
package lists

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Bounds of lists.
const (
	MaxLists   = 100     // of an environment
	MaxEntries = 100_000 // of a list
	MaxEdit    = 500     // entries of one change, those to add and those to remove each
	maxText    = 256     // characters of a value, a reason or a description
)

// Service manages lists. It is safe for concurrent use.
type Service struct {
	store *pg.Store
	clock clock.Clock
	vault Vault
}

// New returns the service.
func New(st *pg.Store, c clock.Clock, keys *keyring.Keyring) *Service {
	return &Service{store: st, clock: c, vault: NewVault(keys)}
}

// By is who makes a change: the actor of its audit entry, the request, and the workflow of the change request that was approved, if
// there was one.
type By struct{ Actor, RequestID, WorkflowID string }

// Draft is a new list.
type Draft struct {
	Name        string          `json:"name"` // unique in the environment; rules name it
	Kind        models.ListKind `json:"kind"`
	Personal    bool            `json:"personal"` // its values are stored as keyed digests only
	Description string          `json:"description"`
}

// NewEntry is a value to add. One that the list has gets the reason and the expiry.
type NewEntry struct {
	Value     string
	Reason    string
	ExpiresAt *time.Time // nil for never
}

// Removed names an entry by its id or by its value; one of the two is empty.
type Removed struct {
	ID    string `json:"id"`
	Value string `json:"value"`
}

// Edit is a change of the entries of a list. Entries are removed first. Removing what the list does not have changes nothing.
type Edit struct {
	Add    []NewEntry
	Remove []Removed
}

// Get returns one list.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (models.List, error) {
	row, err := Get(ctx, s.store.Q, scope, id)
	return row, notFound(err)
}

// Named returns the list with a name.
func (s *Service) Named(ctx context.Context, scope pg.Scope, name string) (models.List, error) {
	rows, err := byName(ctx, s.store.Q, scope, []string{name})
	if err == nil && len(rows) == 0 {
		return models.List{}, problem.NotFoundBy("list")
	}
	if err != nil {
		return models.List{}, err
	}
	return rows[0], nil
}

// List lists the lists of the environment, newest first, and returns the cursor of the next page.
func (s *Service) List(ctx context.Context, scope pg.Scope, page pg.Page) ([]models.List, string, error) {
	return listLists(ctx, s.store.Q, scope, page)
}

// Entries lists the entries of a list, newest first, and returns the cursor of the next page. Expired ones are among them until they
// are deleted. With a value, only entries that have it are listed and, of a list that is not personal, those that contain it.
func (s *Service) Entries(ctx context.Context, scope pg.Scope, id, value string, page pg.Page) ([]models.ListEntry, string, error) {
	l, err := s.Get(ctx, scope, id)
	if err != nil {
		return nil, "", err
	}
	find, err := s.vault.find(l, value)
	if err != nil {
		return nil, "", err
	}
	return listEntries(ctx, s.store.Q, l, find, page)
}

// notFound maps a missing list to the problem not_found.
func notFound(err error) error {
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NotFoundBy("list_id")
	}
	return err
}

// check refuses a draft that breaks a rule for lists.
func (d Draft) check() error {
	switch {
	case !rules.ListName.MatchString(d.Name):
		return invalid("name", "name must begin with a lower-case letter and have 1 to 64 lower-case letters, digits and underscores")
	case d.Kind != models.ListText && d.Kind != models.ListCountry && d.Kind != models.ListIBANPrefix:
		return invalid("kind", "kind must be text, country or iban_prefix")
	case d.Personal && d.Kind != models.ListText:
		return invalid("personal", "a personal list compares whole values, because it stores their digests only: use the kind text")
	case utf8.RuneCountInString(d.Description) > maxText:
		return invalid("description", fmt.Sprintf("description must have at most %d characters", maxText))
	}
	if err := displaytext.Check("description", d.Description); d.Description != "" && err != nil {
		return err
	}
	return nil
}

// Fault returns the field of an entry that a list of a kind cannot have, and why; both empty for none.
func (e NewEntry) Fault(kind models.ListKind, now time.Time) (field, why string) {
	if why := fault(kind, e.Value); why != "" {
		return "value", why
	}
	reason := strings.TrimSpace(e.Reason)
	switch n := utf8.RuneCountInString(reason); {
	case n < 1 || n > maxText:
		return "reason", fmt.Sprintf("reason must have 1 to %d characters: why the value is in the list", maxText)
	case displaytext.Fault(reason) != "":
		return "reason", "reason must not contain " + displaytext.Fault(reason)
	case e.ExpiresAt != nil && !e.ExpiresAt.After(now):
		return "expires_at", "expires_at must be in the future"
	}
	return "", ""
}

// invalid refuses a field of the body.
func invalid(field, why string) error {
	return problem.Invalid([]any{"body", field}, why, "value_error")
}
