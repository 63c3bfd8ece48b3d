package challenge

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"time"

	"github.com/countersign-dev/countersign/internal/events"
	"github.com/countersign-dev/countersign/internal/identity"
	"github.com/countersign-dev/countersign/internal/problem"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/models"
)

// ticketPurpose names the keyring's subkey for the MACs of tickets.
const ticketPurpose = "challenge-link"

// ticketSize is the length of a ticket in random bytes.
const ticketSize = 32

// Link opens one challenge in a browser until it expires.
type Link struct {
	URL       string
	ExpiresAt time.Time
}

// CreateLink makes a link. Its ticket is in the URL alone; the database keeps the MAC.
func (s *Service) CreateLink(ctx context.Context, p identity.Principal, id string) (Link, error) {
	c, err := s.open(ctx, p.Store(), id)
	if err != nil {
		return Link{}, err
	}
	raw := make([]byte, ticketSize)
	_, _ = rand.Read(raw) // never fails: it ends the process instead
	ticket := base64.RawURLEncoding.EncodeToString(raw)
	now := s.Clock.Now()
	err = s.Store.Write(ctx, func(q *store.Q) error {
		if err := q.InsertChallengeLink(ctx, models.ChallengeLink{
			MAC: s.Keyring.MAC(ticketPurpose, []byte(ticket)), ChallengeID: c.ID, CreatedAt: now, ExpiresAt: c.ExpiresAt,
		}); err != nil {
			return err
		}
		full, err := q.ChallengeCase(ctx, c.ID)
		if err != nil {
			return err
		}
		e := entryOf(full, events.ChallengeLinkCreated, now, p.Actor())
		e.RequestID = p.RequestID
		e.Data = map[string]any{"challenge": c.ID}
		return events.Append(ctx, q, e)
	})
	return Link{URL: s.LinkBase + ticket, ExpiresAt: c.ExpiresAt}, err
}

// ByTicket is the challenge that a link's ticket opens, with the scope to act in; the one answer for a ticket that is
// wrong, used up or expired is that there is none.
func (s *Service) ByTicket(ctx context.Context, ticket string) (store.Scope, View, error) {
	c, err := s.Store.ChallengeByLink(ctx, s.Keyring.MACs(ticketPurpose, []byte(ticket)), s.Clock.Now())
	if absent(err) {
		return store.Scope{}, View{}, problem.Absent()
	}
	if err != nil {
		return store.Scope{}, View{}, err
	}
	return store.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID}, s.view(c), nil
}
