package challenge

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// openedPurpose names the keyring's subkey for the MACs of the secrets of browsers that opened a link.
const openedPurpose = "challenge-link-opened"

// opened reports whether the secret is that of the browser that opened the link last.
func (s *Service) opened(l models.ChallengeLink, secret string) bool {
	return secret != "" && slices.ContainsFunc(s.keyring.MACs(openedPurpose, []byte(secret)), func(mac []byte) bool {
		return hmac.Equal(mac, l.Opened)
	})
}

// OpeningOptions returns the options of the passkey ceremony that opens a link for a client. The assertion signs this link and nothing of
// the request.
func (s *Service) OpeningOptions(ctx context.Context, ticket string) (any, error) {
	link, c, err := s.openable(ctx, ticket)
	if err != nil {
		return nil, err
	}
	return s.assertions.OpeningOptions(ctx, pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID}, c, link)
}

// OpenLink opens a link for a client in one browser and returns the secret of that browser. The method is passkey, with an assertion for
// OpeningOptions, or, if the subject has no passkey, sandbox_confirm where the challenge offers it. A refused assertion is counted; the fifth
// ends the link and not the challenge. Opening a link again in a different browser closes it in this one.
func (s *Service) OpenLink(ctx context.Context, p identity.Principal, ticket, method string, assertion json.RawMessage) (string, error) {
	link, c, err := s.openable(ctx, ticket)
	if err != nil {
		return "", err
	}
	if err := s.identify(ctx, p, c, link, method, assertion); err != nil {
		return "", s.countOpening(ctx, p, c, link, err)
	}
	secret := NewTicket()
	now := s.clock.Now()
	err = s.store.Write(ctx, func(q *pg.Q) error {
		ok, err := openLink(ctx, q, link, s.keyring.MAC(openedPurpose, []byte(secret)), RandomBytes(), now)
		if err != nil {
			return err
		}
		if !ok { // a concurrent attempt opened it with the same random bytes, or it ended
			return problem.New(problem.Conflict, "The link was opened meanwhile. Open it again.")
		}
		cs, err := readCase(ctx, q, p.Store(), c.ID, nil)
		if err != nil {
			return err
		}
		e := cs.entry(now, p.Actor(), events.ChallengeLinkOpenedData{Challenge: c.ID, Method: method})
		e.RequestID = p.RequestID
		return events.Append(ctx, q, e)
	})
	return secret, err
}

// openable returns a link for a client whose challenge is open.
func (s *Service) openable(ctx context.Context, ticket string) (models.ChallengeLink, models.Challenge, error) {
	link, c, err := s.liveLink(ctx, ticket)
	if err == nil && !link.ForClient {
		err = problem.NewNotFound()
	}
	if err == nil {
		err = refuseSettled(Effective(c, s.clock.Now()))
	}
	return link, c, err
}

// identify verifies that the subject opens the link.
func (s *Service) identify(ctx context.Context, p identity.Principal, c models.Challenge, l models.ChallengeLink, method string, assertion json.RawMessage) error {
	if method == MethodPasskey {
		return s.assertions.VerifyOpening(ctx, p.Store(), c, l, assertion)
	}
	if err := completable(c, p, method, nil); err != nil {
		return err
	}
	passkeys, err := PasskeysForChallenge(ctx, s.store.Q, p.Store(), c)
	if err == nil && len(passkeys) > 0 {
		err = problem.New(problem.MethodNotOffered, "The subject has a passkey, so the link opens with it.")
	}
	return err
}

// countOpening counts a refused assertion and returns the refusal. Errors that are no refusal are not counted.
func (s *Service) countOpening(ctx context.Context, p identity.Principal, c models.Challenge, l models.ChallengeLink, refusal error) error {
	e := RefusedAssertion(refusal)
	if e == nil {
		return refusal
	}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		now := s.clock.Now()
		failures, err := refuseLink(ctx, q, l, now)
		if err != nil || failures == 0 {
			return err
		}
		cs, err := readCase(ctx, q, p.Store(), c.ID, nil)
		if err != nil {
			return err
		}
		entry := cs.entry(now, p.Actor(), events.ChallengeLinkRefusedData{Challenge: c.ID, Failures: failures, Reason: string(e.Code)})
		entry.RequestID = p.RequestID
		return events.Append(ctx, q, entry)
	})
	if err != nil {
		return err
	}
	return refusal
}
