package change

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// propose stores a change request of a principal and returns it as the principal sees it.
func (s *Service) propose(ctx context.Context, p identity.Principal, build func(q *pg.Q) (proposal, error)) (*View, error) {
	return s.proposeBy(ctx, p.Store(), By{Actor: p.Actor(), RequestID: p.RequestID}, build)
}

// proposeBy stores a change request, and the outbox row that starts its workflow. The same proposal returns the request that is
// pending, by whichever principal it was made: a repetition is no approval.
func (s *Service) proposeBy(ctx context.Context, scope pg.Scope, by By, build func(q *pg.Q) (proposal, error)) (*View, error) {
	if err := action.CheckReason(by.Reason); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	var row models.Change
	err := s.store.Write(ctx, func(q *pg.Q) error {
		in, err := build(q)
		if err != nil {
			return err
		}
		if row, err = newRow(ctx, q, scope, in, now); err != nil {
			return err
		}
		row.Reason = cmp.Or(by.Reason, in.reason)
		pending, err := waiting(ctx, q, row, by)
		if err != nil {
			return err
		}
		if pending != nil {
			row = *pending
			return nil
		}
		row, err = insert(ctx, q, row, by)
		return err
	})
	if err != nil {
		return nil, err
	}
	return view(row, now)
}

func newRow(ctx context.Context, q *pg.Q, scope pg.Scope, in proposal, now time.Time) (models.Change, error) {
	env, err := tenancy.GetEnvironment(ctx, q, scope)
	if err != nil {
		return models.Change{}, err
	}
	row := models.Change{
		ID: ids.New(ids.Change), TenantID: scope.Tenant, EnvironmentID: scope.Environment, Kind: in.kind, Status: models.ChangePending,
		Target: in.target, Action: in.action, CreatedAt: now, ExpiresAt: now.Add(time.Duration(env.ChangeTTLSeconds) * time.Second),
	}
	if row, err = document(row, in); err != nil {
		return row, err
	}
	body, err := canonical.JSON(map[string]any{
		"kind": in.kind, "target": in.target, "proposed": json.RawMessage(row.Proposed), "base": json.RawMessage(row.Base),
	})
	digest := sha256.Sum256(body)
	row.Digest = digest[:]
	return row, err
}

// document returns a change request with the content of a proposal.
func document(row models.Change, in proposal) (models.Change, error) {
	for _, part := range []struct {
		to   *models.JSON
		from any
	}{{&row.Proposed, in.proposed}, {&row.Base, in.base}, {&row.Differences, in.differences}} {
		raw, err := canonical.JSON(part.from)
		if err != nil {
			return row, fmt.Errorf("document of a change: %w", err)
		}
		*part.to = raw
	}
	return row, nil
}

// waiting returns the pending change request with the same proposal; nil if there is none. It expires a request that is due.
func waiting(ctx context.Context, q *pg.Q, proposed models.Change, by By) (*models.Change, error) {
	row, err := lockPendingChanges(ctx, q, scopeOf(proposed), proposed.Digest)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, nil
	}
	if err != nil || Effective(row, proposed.CreatedAt) == models.ChangePending {
		return &row, err
	}
	_, err = expire(ctx, q, row, Move{At: proposed.CreatedAt, Actor: by.Actor, RequestID: by.RequestID})
	return nil, err
}

// insert stores a change request with its event and its outbox row. If the same proposal was inserted concurrently, it returns
// that one.
func insert(ctx context.Context, q *pg.Q, row models.Change, by By) (models.Change, error) {
	principal, err := identity.LockPrincipal(ctx, q, scopeOf(row), by.Actor)
	if err != nil {
		return row, err
	}
	row.ProposedBy, row.Principal = by.Actor, principal
	inserted, err := insertChange(ctx, q, row)
	if err != nil {
		return row, err
	}
	if !inserted {
		return lockPendingChanges(ctx, q, scopeOf(row), row.Digest)
	}
	digests, err := digestsOf(row)
	if err != nil {
		return row, err
	}
	data := events.ChangeRequestedData{ID: row.ID, Kind: string(row.Kind), ExpiresAt: apitime.Time(row.ExpiresAt), Change: digests}
	err = events.Append(ctx, q, events.Entry{
		Scope: scopeOf(row), At: row.CreatedAt, Action: row.Action, Actor: by.Actor, RequestID: by.RequestID, Data: data,
	})
	if err != nil {
		return row, err
	}
	return row, outbox.Add(ctx, q, outbox.Item{
		Topic: outbox.TopicChangeStart, Environment: row.EnvironmentID, Ref: row.ID, At: row.CreatedAt,
	})
}

// digestsOf returns the digests of what was in force and what is proposed.
func digestsOf(c models.Change) (events.Change, error) {
	return events.NewChange(json.RawMessage(c.Base), json.RawMessage(c.Proposed))
}
