package notify

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	actions "github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

const (
	// SendTimeout is how long one attempt may take: that of a chat takes up to 17 seconds.
	SendTimeout = 25 * time.Second
	// maxAttempts of a notice take about an hour with the backoff of the outbox.
	maxAttempts = 60
	// notConfigured is the failure of an e-mail that the worker cannot send.
	notConfigured = "not_configured"
)

// Email is the outbox handler of the topic "notice.email". The outbox never hands one row to two handlers at once, so that a message has one
// attempt at a time; a process that dies after the mail server accepted a message sends it again.
func (s *Service) Email(ctx context.Context, row models.Outbox) error {
	b, err := s.due(ctx, row)
	if err != nil || len(b.about) == 0 {
		return err
	}
	if s.Mail == nil {
		return s.conclude(ctx, b, notConfigured, true, 0)
	}
	address, err := mailAddress(ctx, s.Store.Q, b.scope.Tenant, b.recipient)
	if err != nil {
		return err
	}
	to, err := staff.OpenAddress(s.Keyring, address)
	if err != nil {
		return err
	}
	m := s.messageOf(b, timingOf(address).zone())
	failure, final := s.Mail.send(ctx, letter{
		id: b.carrier, host: hostOf(s.BaseURL), to: to, subject: m.Head, text: m.email(s.settingsURL(b.scope.Environment)), at: b.about[0].notice.CreatedAt,
		thread: b.thread(),
	})
	return s.conclude(ctx, b, failure, final, 0)
}

// Chat is the outbox handler of the topic "notice.chat". It posts to one chat; those who chose it share the message.
func (s *Service) Chat(ctx context.Context, row models.Outbox) error {
	b, err := s.due(ctx, row)
	if err != nil || len(b.about) == 0 {
		return err
	}
	to, err := chatAddress(ctx, s.Store.Q, b.scope, b.recipient)
	if err != nil {
		return err
	}
	result, err := s.post(ctx, to, b.carrier, s.messageOf(b, time.UTC))
	if err != nil {
		return err
	}
	return s.conclude(ctx, b, result.Error, refusesForGood(result), result.RetryAfter)
}

// refusesForGood reports whether a chat will refuse the same message again: the room is gone, or the URL or the message is not accepted.
func refusesForGood(r webhook.AttemptResult) bool {
	passing := []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests}
	return r.Abort || r.StatusCode >= 300 && r.StatusCode < 500 && !slices.Contains(passing, r.StatusCode)
}

// mostListed is the number of holds that one message lists; it counts the others.
const mostListed = 50

// batch has the holds that one message to one recipient is about.
type batch struct {
	carrier   string // id of the notice whose message it is: the same for every attempt
	recipient string
	scope     pg.Scope
	env       models.Environment
	about     []held // at least one, or there is nothing to send
	more      int    // holds that are not listed
}

// held is a hold that is announced.
type held struct {
	notice models.Notice
	hold   models.Hold
	action string // name
	state  string // what the person who requests sees of it (hold.Status); empty of a notice to reviewers
}

// due returns what the message of a notice is about. That is nothing if another message carries the notice or it is settled. Notices are
// discarded whose hold is settled, or no longer concerns those who wanted them.
func (s *Service) due(ctx context.Context, row models.Outbox) (batch, error) {
	notices, err := carryNotices(ctx, s.Store.Q, row.EnvironmentID, row.Ref)
	if err != nil || len(notices) == 0 {
		return batch{}, err
	}
	first := notices[0]
	b := batch{carrier: row.Ref, recipient: first.Recipient, scope: pg.Scope{Tenant: first.TenantID, Environment: first.EnvironmentID}}
	if b.env, err = tenancy.GetEnvironment(ctx, s.Store.Q, b.scope); err != nil {
		return b, err
	}
	for i, n := range notices {
		if len(b.about) == mostListed {
			b.more = len(notices) - i
			break
		}
		about, wanted, err := s.stillWanted(ctx, b.scope, n)
		if err != nil {
			return b, err
		}
		if wanted {
			b.about = append(b.about, about)
		} else if err := discardNotice(ctx, s.Store.Q, n, s.Clock.Now()); err != nil {
			return b, err
		}
	}
	// What ends first is shown first.
	slices.SortStableFunc(b.about, func(a, b held) int { return a.hold.DueAt.Compare(b.hold.DueAt) })
	return b, nil
}

// stillWanted reports whether a notice has a reason: the hold may have been settled, and teams and choices may have changed, while it waited.
func (s *Service) stillWanted(ctx context.Context, scope pg.Scope, n models.Notice) (held, bool, error) {
	h, err := hold.GetHold(ctx, s.Store.Q, scope, n.AuthorizationID)
	if err != nil {
		return held{}, false, err
	}
	to, err := s.recipients(ctx, h, n.Kind)
	if err != nil || !announces(n.Kind, h, s.Clock.Now()) || !slices.Contains(to, n.Recipient) {
		return held{}, false, err
	}
	out := held{notice: n, hold: h}
	if n.Kind.OfRequester() {
		status, err := s.Holds.Status(ctx, scope.Environment, h.AuthorizationID)
		if errors.Is(err, pg.ErrNotFound) {
			return held{}, false, nil // it ended too long ago
		}
		if err != nil {
			return held{}, false, err
		}
		out.state = status.State
	}
	action, err := actions.GetActionOrArchived(ctx, s.Store.Q, scope, h.ActionID)
	out.action = action.Name
	return out, true, err
}

// thread returns what the message belongs to, by which programs for mail group messages: the action, and the hold if it is about one.
func (b batch) thread() []string {
	first := b.about[0].hold
	for _, a := range b.about[1:] {
		if a.hold.ActionID != first.ActionID {
			return nil
		}
	}
	if len(b.about) > 1 {
		return []string{first.ActionID}
	}
	return []string{first.ActionID, first.AuthorizationID}
}

// conclude records an attempt; an empty failure is a success. It returns an error if the attempt is to be repeated, and then the outbox does.
func (s *Service) conclude(ctx context.Context, b batch, failure string, final bool, wait time.Duration) error {
	// The message may have been sent: that is recorded even if the time of the handler is over.
	ctx = context.WithoutCancel(ctx)
	now := s.Clock.Now()
	if failure == "" {
		return settleNotices(ctx, s.Store.Q, b.scope, b.carrier, models.NoticeSent, "", now)
	}
	// The log has no recipient: ids of notices lead to it in the database.
	if final || b.about[0].notice.Attempts+1 >= maxAttempts {
		s.Log.LogAttrs(ctx, slog.LevelWarn, "a notice about a hold could not be sent", slog.String("notice", b.carrier), slog.String("failure", failure))
		return settleNotices(ctx, s.Store.Q, b.scope, b.carrier, models.NoticeFailed, failure, now)
	}
	if err := countNoticeAttempt(ctx, s.Store.Q, b.scope, b.carrier, failure); err != nil {
		return err
	}
	return outbox.Later{Wait: min(wait, time.Hour), Err: errors.New(failure)}
}

// Code is the outbox handler of the topic "address.code": it mails a code to an address that waits for its confirmation. A repeated attempt
// mails a new code, because codes are not stored.
func (s *Service) Code(ctx context.Context, row models.Outbox) error {
	var in codeFor
	if err := json.Unmarshal(row.Payload, &in); err != nil {
		return err
	}
	now := s.Clock.Now()
	address, err := mailAddress(ctx, s.Store.Q, in.Tenant, row.Ref)
	if errors.Is(err, pg.ErrNotFound) || err == nil && (s.Mail == nil || address.ConfirmedAt != nil || now.Sub(address.ChangedAt) >= CodeLife) {
		return nil
	}
	if err != nil {
		return err
	}
	to, err := staff.OpenAddress(s.Keyring, address)
	if err != nil {
		return err
	}
	code, err := newCode()
	if err != nil {
		return err
	}
	set, err := setMailCode(ctx, s.Store.Q, address, s.Keyring.MAC(codePurpose, []byte(row.Ref), []byte(code)), now.Add(CodeLife))
	if err != nil || !set {
		return err
	}
	// The id is that of the change and not of the code, so that a repeated attempt has the same Message-ID.
	failure, final := s.Mail.send(ctx, letter{
		id: row.Ref + "." + address.ChangedAt.UTC().Format("20060102150405.000000"), host: hostOf(s.BaseURL), to: to,
		subject: "Confirm your address for messages about holds", text: codeText(code, s.settingsURL(row.EnvironmentID)), at: now,
	})
	if failure == "" || final {
		return nil
	}
	return errors.New(failure)
}

// Invitation is the outbox handler of the topic "person.invitation": it makes the link of an invitation and mails it. A repeated attempt mails a
// new link, because links are not stored, and so each has a Message-ID of its own: a mail server that drops repetitions would keep the link that
// works no more. An invitation that cannot be mailed is voided.
func (s *Service) Invitation(ctx context.Context, row models.Outbox) error {
	if s.Mail == nil {
		s.Log.LogAttrs(ctx, slog.LevelWarn, "an invitation could not be mailed", slog.String("invitation", row.Ref), slog.String("failure", notConfigured))
		return s.People.DiscardMailed(ctx, row.Ref)
	}
	in, usable, err := s.People.MintMailed(ctx, row.Ref)
	if err != nil || !usable {
		return err
	}
	now := s.Clock.Now()
	failure, final := s.Mail.send(ctx, letter{
		id: row.Ref + "." + now.UTC().Format("20060102150405.000000"), host: hostOf(s.BaseURL), to: in.Address,
		subject: "You are invited to the Countersign console", text: invitationText(in), at: now,
	})
	switch {
	case failure == "":
		return nil
	case final:
		s.Log.LogAttrs(ctx, slog.LevelWarn, "an invitation could not be mailed", slog.String("invitation", row.Ref), slog.String("failure", failure))
		return s.People.DiscardMailed(context.WithoutCancel(ctx), row.Ref)
	default:
		return errors.New(failure)
	}
}
