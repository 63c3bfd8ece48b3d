package challenge

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// shown returns the ChallengeDisplay of a challenge with its details. Details that are past their retention, or that are not those
// the challenge was opened with, are left out; details_digest then says that there were some.
func (s *Service) shown(ctx context.Context, c models.Challenge) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(c.Display, &fields); err != nil {
		return nil, err
	}
	if fields["details_digest"] == nil {
		return json.RawMessage(c.Display), nil
	}
	details, intact, err := s.details(ctx, c)
	if err != nil {
		return nil, err
	}
	if intact {
		if fields["details"], err = json.Marshal(details); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// requireShown refuses to complete a challenge whose details cannot be shown as they were when it was opened: a person would
// confirm something else than they see.
func (s *Service) requireShown(ctx context.Context, c models.Challenge) error {
	_, intact, err := s.details(ctx, c)
	if err == nil && !intact {
		return problem.New(problem.AssertionDisplay, "The details of the challenge are not those it was opened with. Start a new authorization.")
	}
	return err
}

// details opens the details of a challenge and reports whether they are those that its display commits to.
func (s *Service) details(ctx context.Context, c models.Challenge) ([]display.Detail, bool, error) {
	var committed struct {
		Digest string `json:"details_digest"`
	}
	if err := json.Unmarshal(c.Display, &committed); err != nil || committed.Digest == "" {
		return nil, true, err
	}
	sealed, err := ShownDetailsOf(ctx, s.store.Q, pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID}, c.AuthorizationID)
	if err != nil {
		return nil, false, err
	}
	details, err := display.NewVault(s.keyring).Open(c.AuthorizationID, sealed)
	if err != nil || len(details) == 0 {
		return nil, false, nil //nolint:nilerr // details that do not open are not those it was opened with
	}
	digest, err := display.Digest(details)
	return details, err == nil && digest == committed.Digest, err
}
