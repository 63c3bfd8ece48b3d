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

// Email is the outbox handler of the topic "notice.email". The outbox never hands one row to two handlers at once, so that a notice has one
// attempt at a time; a process that dies after the mail server accepted a message sends it again.
func (s *Service) Email(ctx context.Context, row models.Outbox) error {
	n, m, err := s.due(ctx, row)
	if err != nil || m == nil {
		return err
	}
	if s.Mail == nil {
		return s.conclude(ctx, n, notConfigured, true, 0)
	}
	address, err := mailAddress(ctx, s.Store.Q, n.TenantID, n.Recipient)
	if errors.Is(err, pg.ErrNotFound) {
		return s.discard(ctx, n)
	}
	if err != nil {
		return err
	}
	to, err := staff.OpenAddress(s.Keyring, address)
	if err != nil {
		return err
	}
	failure, final := s.Mail.send(ctx, letter{
		id: n.ID, host: hostOf(s.BaseURL), to: to, subject: m.Head, text: m.email(s.settingsURL(n.EnvironmentID)), at: n.CreatedAt,
	})
	return s.conclude(ctx, n, failure, final, 0)
}

// Chat is the outbox handler of the topic "notice.chat". It posts to one chat; those who chose it share the message.
func (s *Service) Chat(ctx context.Context, row models.Outbox) error {
	n, m, err := s.due(ctx, row)
	if err != nil || m == nil {
		return err
	}
	to, err := chatAddress(ctx, s.Store.Q, scopeOf(n), n.Recipient)
	if errors.Is(err, pg.ErrNotFound) {
		return s.discard(ctx, n)
	}
	if err != nil {
		return err
	}
	result, err := s.post(ctx, to, n.ID, *m)
	if err != nil {
		return err
	}
	return s.conclude(ctx, n, result.Error, refusesForGood(result), result.RetryAfter)
}

// refusesForGood reports whether a chat will refuse the same message again: the room is gone, or the URL or the message is not accepted.
func refusesForGood(r webhook.AttemptResult) bool {
	passing := []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests}
	return r.Abort || r.StatusCode >= 300 && r.StatusCode < 500 && !slices.Contains(passing, r.StatusCode)
}

// due returns a pending notice with its message. The message is nil if there is nothing to send: the notice is settled, or is discarded
// because the hold is settled, or because it no longer concerns those who wanted it.
func (s *Service) due(ctx context.Context, row models.Outbox) (models.Notice, *message, error) {
	n, err := getNotice(ctx, s.Store.Q, row.EnvironmentID, row.Ref)
	if errors.Is(err, pg.ErrNotFound) || err == nil && n.Status != models.NoticePending {
		return n, nil, nil
	}
	if err != nil {
		return n, nil, err
	}
	// The hold may have been settled, and teams and choices may have changed, while the notice waited.
	h, err := hold.GetHold(ctx, s.Store.Q, scopeOf(n), n.AuthorizationID)
	if err != nil {
		return n, nil, err
	}
	to, err := s.recipients(ctx, h, n.Kind)
	if err != nil {
		return n, nil, err
	}
	if hold.Effective(h, s.Clock.Now()) != models.HoldPending || !slices.Contains(to, n.Recipient) {
		return n, nil, s.discard(ctx, n)
	}
	action, err := actions.GetActionOrArchived(ctx, s.Store.Q, scopeOf(n), h.ActionID)
	if err != nil {
		return n, nil, err
	}
	env, err := tenancy.GetEnvironment(ctx, s.Store.Q, scopeOf(n))
	if err != nil {
		return n, nil, err
	}
	m := s.messageOf(n.Kind, h, action.Name, env)
	return n, &m, nil
}

// discard ends a notice that has lost its reason.
func (s *Service) discard(ctx context.Context, n models.Notice) error {
	_, err := settleNotice(ctx, s.Store.Q, n, models.NoticeDiscarded, "", s.Clock.Now())
	return err
}

// conclude records an attempt; an empty failure is a success. It returns an error if the attempt is to be repeated, and then the outbox does.
func (s *Service) conclude(ctx context.Context, n models.Notice, failure string, final bool, wait time.Duration) error {
	// The message may have been sent: that is recorded even if the time of the handler is over.
	ctx = context.WithoutCancel(ctx)
	if failure == "" {
		_, err := settleNotice(ctx, s.Store.Q, n, models.NoticeSent, "", s.Clock.Now())
		return err
	}
	// The log has no recipient: ids of notices lead to it in the database.
	if final || n.Attempts+1 >= maxAttempts {
		s.Log.LogAttrs(ctx, slog.LevelWarn, "a notice about a hold could not be sent", slog.String("notice", n.ID), slog.String("failure", failure))
		_, err := settleNotice(ctx, s.Store.Q, n, models.NoticeFailed, failure, s.Clock.Now())
		return err
	}
	if err := countNoticeAttempt(ctx, s.Store.Q, n, failure); err != nil {
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
