package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net/mail"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	addressPurpose = "person-address"      // of the keyring
	codePurpose    = "person-address-code" // of the keyring

	// CodeLife is how long a code confirms the address that it was mailed to.
	CodeLife = 30 * time.Minute
	// codeTries is the number of codes that may be tried; a code is one of a million.
	codeTries = 5
	// changeEvery limits the mails that a person can cause to addresses that are not theirs.
	changeEvery = time.Minute
	// maxAddress is the maximum length of an address in bytes (RFC 5321, section 4.5.3.1.3, without the angle brackets).
	maxAddress = 254
)

// open unseals the address of a person. The person's id is the additional data, so that an address cannot be moved to another row.
func (s *Service) open(row models.PersonAddress) (string, error) {
	raw, err := s.Keyring.Open(addressPurpose, row.Address, []byte(row.PersonID))
	return string(raw), err
}

// SetAddress stores the e-mail address of the caller, or removes it if the text is empty, and mails a code to a new one. Nothing else is
// mailed there until Confirm.
func (s *Service) SetAddress(ctx context.Context, p identity.Principal, text string) error {
	text = strings.TrimSpace(text)
	if text == "" {
		return s.removeAddress(ctx, p)
	}
	if fault := addressFault(text); fault != "" {
		return problem.Invalid([]any{"body", "address"}, fault, "value_error")
	}
	// Stored without a mail server, it could never be confirmed.
	if !s.CanMail() {
		return problem.New(problem.Conflict, "This deployment sends no e-mail. The operator of the service sets COUNTERSIGN_SMTP_ADDRESS first.")
	}
	// Sealed even though staff are known to the tenant: a copy of the database should not be a list of addresses.
	sealed, err := s.Keyring.Seal(addressPurpose, []byte(text), []byte(p.Person))
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

// addressFault says why a text is not an address that mail can be sent to; empty if it is one.
func addressFault(text string) string {
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || len(text) > maxAddress {
		return "address must be one e-mail address of at most 254 characters and no name, such as ann@example.com"
	}
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return "address must consist of ASCII characters; write an internationalised domain in its xn-- form"
		}
	}
	return ""
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
