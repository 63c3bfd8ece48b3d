package notify

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// occasion is the payload of the outbox row that announces a hold.
type occasion struct {
	Kind models.NoticeKind `json:"kind"`
}

// FanOut is the outbox handler of the topic "notice": it writes a notice for each person who wants to be notified of the hold by e-mail, and one
// for each chat that at least one of them chose, with the outbox rows that send them. It is safe to repeat: a notice is unique for hold,
// occasion and recipient.
func (s *Service) FanOut(ctx context.Context, row models.Outbox) error {
	var o occasion
	if err := json.Unmarshal(row.Payload, &o); err != nil {
		return err
	}
	now := s.Clock.Now()
	h, err := holdOfNotice(ctx, s.Store.Q, row.EnvironmentID, row.Ref)
	if errors.Is(err, pg.ErrNotFound) || err == nil && !announces(o.Kind, h, now) {
		return nil
	}
	if err != nil {
		return err
	}
	to, err := s.recipients(ctx, h, o.Kind)
	if err != nil || len(to) == 0 {
		return err
	}
	// The unique key decides between concurrent handlers: only the one that inserted a notice adds the row that sends it.
	return s.Store.Write(ctx, func(q *pg.Q) error {
		for _, recipient := range to {
			n := models.Notice{
				ID: ids.New(ids.Notice), TenantID: h.TenantID, EnvironmentID: h.EnvironmentID, AuthorizationID: h.AuthorizationID,
				Kind: o.Kind, Recipient: recipient, CreatedAt: now,
			}
			if err := announce(ctx, q, h, n, row.CreatedAt); err != nil {
				return err
			}
		}
		return nil
	})
}

// announces reports whether the occasion is still news: a break-glass has settled the hold, its result is news once it is, and the others matter while it
// is pending.
func announces(kind models.NoticeKind, h models.Hold, now time.Time) bool {
	switch status := hold.Effective(h, now); kind {
	case models.NoticeBreakGlass:
		return true
	case models.NoticeSettled:
		return status == models.HoldApproved || status == models.HoldRejected || status == models.HoldExpired
	default:
		return status == models.HoldPending
	}
}

// announce adds a notice of what happened at a time with the outbox row that sends it when it is due, unless it exists.
func announce(ctx context.Context, q *pg.Q, h models.Hold, n models.Notice, happened time.Time) error {
	t, err := timing(ctx, q, n)
	if err != nil {
		return err
	}
	last, err := lastDue(ctx, q, n)
	if err != nil {
		return err
	}
	switch {
	case n.Kind == models.NoticeBreakGlass:
		n.DueAt = n.CreatedAt
	case n.Kind.OfRequester():
		n.DueAt = t.gathered(n.CreatedAt, last)
	default:
		n.DueAt = t.sendAt(n.CreatedAt, last, h)
	}
	added, err := insertNotice(ctx, q, n, happened)
	if err != nil || !added {
		return err
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: topicOf(n), Environment: n.EnvironmentID, Ref: n.ID, At: n.CreatedAt, Due: n.DueAt})
}

// topicOf returns the outbox topic of a notice. E-mail and chat have separate topics, so that an outage of one does not delay the other.
func topicOf(n models.Notice) string {
	if ids.Has(ids.ChatAddress, n.Recipient) {
		return outbox.TopicNoticeChat
	}
	return outbox.TopicNoticeEmail
}

// recipients returns who is to be notified of a hold now: the ids of people, by e-mail, and of chat addresses.
func (s *Service) recipients(ctx context.Context, h models.Hold, kind models.NoticeKind) ([]string, error) {
	choices, err := reviewersWanting(ctx, s.Store.Q, pg.Scope{Tenant: h.TenantID, Environment: h.EnvironmentID}, kind)
	if err != nil || len(choices) == 0 {
		return nil, err
	}
	// One question for all channels: a person who chose two is counted once.
	var people []string
	for _, c := range choices {
		people = append(people, c.PersonID)
	}
	slices.Sort(people)
	people = slices.Compact(people)
	var awaited []string
	switch {
	case kind.OfRequester():
		if h.RequesterPerson != nil {
			awaited = []string{*h.RequesterPerson}
		}
	case kind == models.NoticeBreakGlass:
		awaited, err = s.Holds.Skipped(ctx, h, people)
	default:
		awaited, err = s.Holds.Awaited(ctx, h, people, kind == models.NoticeEscalated)
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range choices {
		recipient := c.Channel
		if recipient == models.ChannelEmail {
			recipient = c.PersonID
		}
		if slices.Contains(awaited, c.PersonID) && !slices.Contains(out, recipient) {
			out = append(out, recipient)
		}
	}
	return out, nil
}
