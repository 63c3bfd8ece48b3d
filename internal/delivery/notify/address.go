package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	codePurpose = "person-address-code" // of the keyring

	// CodeLife is how long a code confirms the address that it was mailed to.
	CodeLife = 30 * time.Minute
	// codeTries is the number of codes that may be tried; a code is one of a million.
	codeTries = 5
	// changeEvery limits the mails that a person can cause to addresses that are not theirs.
	changeEvery = time.Minute
)

// SetAddress stores the e-mail address of the caller, or removes it if the text is empty, and mails a code to a new one. Nothing else is
// mailed there until Confirm.
func (s *Service) SetAddress(ctx context.Context, p identity.Principal, text string) error {
	text = strings.TrimSpace(text)
	if text == "" {
		return s.removeAddress(ctx, p)
	}
	if err := staff.CheckAddress(text); err != nil {
		return err
	}
	// Stored without a mail server, it could never be confirmed.
	if err := s.RequireMail(); err != nil {
		return err
	}
	sealed, err := staff.SealAddress(s.Keyring, p.Person, text)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	return s.Store.Write(ctx, func(q *pg.Q) error {
		set, err := setMailAddress(ctx, q, models.PersonAddress{
			PersonID: p.Person, TenantID: p.TenantID, Address: sealed, ChangedAt: now,
		}, now.Add(-changeEvery))
		if err != nil {
			return err
		}
		if !set {
			return errJustMailed()
		}
		if err := outbox.Add(ctx, q, outbox.Item{Topic: outbox.TopicAddressCode, Environment: p.EnvironmentID, Ref: p.Person, Payload: codeFor{p.TenantID}, At: now}); err != nil {
			return err
		}
		return appendAddress(ctx, q, p, "set", now)
	})
}

// errJustMailed is the refusal of a change that could lead to a further mail within changeEvery.
func errJustMailed() error {
	return problem.New(problem.Conflict, "A code was mailed less than a minute ago. Wait a minute, then save the address again.")
}

// removeAddress deletes the address of the caller. Choices of e-mail stay and have no effect without one. An address that is not
// confirmed stays for changeEvery, because its row limits the mails.
func (s *Service) removeAddress(ctx context.Context, p identity.Principal) error {
	now := s.Clock.Now()
	return s.Store.Write(ctx, func(q *pg.Q) error {
		removed, err := removeMailAddress(ctx, q, p.TenantID, p.Person, now.Add(-changeEvery))
		if err != nil {
			return err
		}
		if removed {
			return appendAddress(ctx, q, p, "removed", now)
		}
		switch _, err := mailAddress(ctx, q, p.TenantID, p.Person); {
		case errors.Is(err, pg.ErrNotFound):
			return nil
		case err != nil:
			return err
		default:
			return errJustMailed()
		}
	})
}

// appendAddress records a change of an address, without the address.
func appendAddress(ctx context.Context, q *pg.Q, p identity.Principal, state string, at time.Time) error {
	return events.Append(ctx, q, events.Entry{
		Scope: p.Store(), At: at, Actor: p.Actor(), RequestID: p.RequestID, Data: events.PersonAddressChangedData{Person: p.Person, State: state},
	})
}

// codeFor is the payload of the outbox row that mails a code. It has no code and no address: both would be readable in the outbox.
type codeFor struct {
	Tenant string `json:"tenant"`
}

// newCode returns a random code of six digits.
func newCode() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	return fmt.Sprintf("%06d", n), err
}

// Confirm takes the code that was mailed to the address of the caller. After five wrong codes a new one is needed.
func (s *Service) Confirm(ctx context.Context, p identity.Principal, code string) error {
	now := s.Clock.Now()
	stale := problem.New(problem.Conflict, "No code is valid. Save the address again to get a new one; a code is valid for 30 minutes and five attempts.")
	row, err := mailAddress(ctx, s.Store.Q, p.TenantID, p.Person)
	if errors.Is(err, pg.ErrNotFound) {
		return stale
	}
	if err != nil {
		return err
	}
	// Counted before it is compared, and outside of the transaction: concurrent guesses cannot share an attempt.
	left, err := countMailCode(ctx, s.Store.Q, row, codeTries, now)
	if err != nil {
		return err
	}
	if !left {
		return stale
	}
	if !s.Keyring.VerifyMAC(codePurpose, row.CodeMAC, []byte(p.Person), []byte(strings.TrimSpace(code))) {
		return problem.Invalid([]any{"body", "code"}, "code is not the one that was mailed last: type its six digits", "value_error")
	}
	return s.Store.Write(ctx, func(q *pg.Q) error {
		done, err := confirmMailAddress(ctx, q, row, now)
		if err != nil {
			return err
		}
		if !done {
			return stale
		}
		return appendAddress(ctx, q, p, "confirmed", now)
	})
}
