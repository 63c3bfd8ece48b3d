package standing

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// LinkLife is how long a link to the page of a subject's standing approvals works.
	LinkLife = 30 * time.Minute
	// LinkPath is the path of the page. The ticket of a link follows it in the fragment, which browsers do not send.
	LinkPath = "/standing"

	// Purposes of the keyring.
	ticketPurpose = "standing-link"
	openedPurpose = "standing-link-opened"
)

// Assertions makes and verifies the passkey assertions that open links (internal/subject/passkey).
type Assertions interface {
	StandingOptions(ctx context.Context, l models.StandingLink) (any, error)
	// VerifyStanding returns the passkey that signed. Refusals have the codes assertion_*.
	VerifyStanding(ctx context.Context, l models.StandingLink, assertion json.RawMessage) (models.Passkey, error)
}

// Links opens the page on which a subject sees and revokes their own standing approvals. The link shows nothing: only a browser in which the subject
// used a passkey sees what is allowed, until the link expires.
type Links struct {
	approvals  *Service
	keys       *keyring.Keyring
	assertions Assertions
	base       string // of the service, such as https://trust.example
}

// NewLinks returns Links over the standing approvals of a Service.
func NewLinks(approvals *Service, keys *keyring.Keyring, assertions Assertions, base string) *Links {
	return &Links{approvals: approvals, keys: keys, assertions: assertions, base: base}
}

// Link opens the page of one subject.
type Link struct {
	// URL contains the ticket and is a secret of the subject: it must not be logged.
	URL       string
	ExpiresAt time.Time
}

// Create creates a link for a subject. The ticket is only in the URL; the database stores its MAC.
func (s *Links) Create(ctx context.Context, p identity.Principal, subject string) (Link, error) {
	env, err := tenancy.GetEnvironment(ctx, s.approvals.store.Q, p.Store())
	if err != nil {
		return Link{}, err
	}
	ticket, now := challenge.NewTicket(), s.approvals.clock.Now()
	row := models.StandingLink{
		MAC: s.keys.MAC(ticketPurpose, []byte(ticket)), ID: ids.New(ids.StandingLink), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, CredentialID: p.CredentialID,
		CreatedAt: now, ExpiresAt: now.Add(LinkLife), Random: challenge.RandomBytes(),
	}
	err = s.approvals.store.Write(ctx, func(q *pg.Q) error {
		sub, err := subjectrow.Lock(ctx, q, p.Store(), subject)
		switch {
		case errors.Is(err, pg.ErrNotFound):
			return problem.NewNotFound()
		case err != nil:
			return err
		case sub.Status == models.SubjectRevoked:
			return problem.New(problem.SubjectRevoked, "The subject is revoked, and with it every standing approval.")
		}
		row.SubjectUID = sub.UID
		if err := createLink(ctx, q, row); err != nil {
			return err
		}
		return events.Append(ctx, q, entryOfLink(row, sub, p, now, events.StandingLinkCreatedData{Link: row.ID}))
	})
	base := s.base
	if env.PageOrigin != nil {
		base = *env.PageOrigin
	}
	return Link{URL: base + LinkPath + "#" + ticket, ExpiresAt: row.ExpiresAt}, err
}

func entryOfLink(l models.StandingLink, sub models.Subject, p identity.Principal, at time.Time, data events.Data) events.Entry {
	return events.Entry{
		Scope: pg.Scope{Tenant: l.TenantID, Environment: l.EnvironmentID}, SubjectUID: sub.UID, Subject: sub.ExternalID, At: at, Actor: p.Actor(), RequestID: p.RequestID,
		Data: data,
	}
}

// Visit is the page that the ticket of a link opens.
type Visit struct {
	Environment models.Environment
	ExpiresAt   time.Time
	// Closed reports that this browser has not opened the link: Open does.
	Closed   bool
	Passkeys int // with which the subject can open it

	link    models.StandingLink
	subject models.Subject
}

// Principal returns the visitor: the passkey that opened the link.
func (v Visit) Principal(p identity.Principal) identity.Principal {
	p.TenantID, p.EnvironmentID, p.Kind = v.Environment.TenantID, v.Environment.ID, v.Environment.Kind
	if !v.Closed && v.link.PasskeyID != nil {
		p.Passkey = *v.link.PasskeyID
	}
	return p
}

// ByTicket returns what a ticket opens in the browser with the secret that Open returned; empty for none. A ticket that is wrong, one that has ended,
// and one of a subject that is gone or revoked have the same error, not_found.
func (s *Links) ByTicket(ctx context.Context, ticket, secret string) (Visit, error) {
	q, now := s.approvals.store.Q, s.approvals.clock.Now()
	l, err := linkByMAC(ctx, q, s.keys.MACs(ticketPurpose, []byte(ticket)), now)
	if err != nil {
		return Visit{}, notFound(err)
	}
	scope := pg.Scope{Tenant: l.TenantID, Environment: l.EnvironmentID}
	lives, err := identity.CredentialLives(ctx, q, scope, l.CredentialID, now)
	if err != nil {
		return Visit{}, err
	}
	v := Visit{ExpiresAt: l.ExpiresAt, link: l}
	if v.subject, err = subjectrow.GetByUID(ctx, q, scope, l.SubjectUID); err != nil {
		return Visit{}, notFound(err)
	}
	if !lives || v.subject.Status == models.SubjectRevoked || l.Failures >= challenge.MaxFailures {
		return Visit{}, problem.NewNotFound()
	}
	if v.Environment, err = tenancy.BrandedEnvironment(ctx, q, scope); err != nil {
		return Visit{}, err
	}
	passkeys, err := challenge.ActivePasskeys(ctx, q, scope, l.SubjectUID)
	v.Passkeys = len(passkeys)
	v.Closed = !s.opened(l, secret) || !slices.ContainsFunc(passkeys, func(k models.Passkey) bool { return k.ID == *l.PasskeyID })
	return v, err
}

// InForce returns the standing approvals in force of the subject, newest first; none while the link is closed.
func (s *Links) InForce(ctx context.Context, v Visit) ([]View, error) {
	if v.Closed {
		return nil, nil
	}
	return s.approvals.InForceOf(ctx, pg.Scope{Tenant: v.link.TenantID, Environment: v.link.EnvironmentID}, v.link.SubjectUID)
}

func notFound(err error) error {
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NewNotFound()
	}
	return err
}

// opened reports whether the secret is that of the browser that opened the link last. The MAC covers whose link it is.
func (s *Links) opened(l models.StandingLink, secret string) bool {
	return secret != "" && l.PasskeyID != nil && s.keys.VerifyMAC(openedPurpose, l.Opened, openedBy(l, secret, *l.PasskeyID)...)
}

func openedBy(l models.StandingLink, secret, passkey string) [][]byte {
	return [][]byte{[]byte(secret), l.MAC, []byte(l.EnvironmentID), []byte(l.SubjectUID), []byte(passkey)}
}

// Ended returns why a ticket opens nothing. Only the holder of a real ticket learns whose environment it is.
func (s *Links) Ended(ctx context.Context, ticket string) (challenge.EndedLink, error) {
	l, err := linkByMAC(ctx, s.approvals.store.Q, s.keys.MACs(ticketPurpose, []byte(ticket)), time.Time{})
	if errors.Is(err, pg.ErrNotFound) {
		return challenge.EndedLink{State: challenge.LinkUnknown}, nil
	}
	if err != nil {
		return challenge.EndedLink{}, err
	}
	out := challenge.EndedLink{State: challenge.LinkExpired}
	if l.Failures >= challenge.MaxFailures {
		out.State = challenge.LinkRefused
	}
	out.Environment, err = tenancy.BrandedEnvironment(ctx, s.approvals.store.Q, pg.Scope{Tenant: l.TenantID, Environment: l.EnvironmentID})
	return out, err
}

// OpeningOptions returns the options of the passkey ceremony that opens a link. The assertion signs this link and allows nothing.
func (s *Links) OpeningOptions(ctx context.Context, v Visit) (any, error) {
	return s.assertions.StandingOptions(ctx, v.link)
}

// Open opens a link in one browser and returns the secret of that browser. A refused assertion is counted; the fifth ends the link. Opening a link again
// in a different browser closes it in this one.
func (s *Links) Open(ctx context.Context, p identity.Principal, v Visit, assertion json.RawMessage) (string, error) {
	key, err := s.assertions.VerifyStanding(ctx, v.link, assertion)
	if err != nil {
		return "", s.countRefusal(ctx, v, p, err)
	}
	secret, now := challenge.NewTicket(), s.approvals.clock.Now()
	p.Passkey = key.ID
	err = s.approvals.store.Write(ctx, func(q *pg.Q) error {
		ok, err := openLink(ctx, q, v.link, key.ID, s.keys.MAC(openedPurpose, openedBy(v.link, secret, key.ID)...), now)
		if err != nil {
			return err
		}
		if !ok { // a concurrent attempt opened it with the same random bytes, or it ended
			return problem.New(problem.Conflict, "The link was opened meanwhile. Open it again.")
		}
		return events.Append(ctx, q, entryOfLink(v.link, v.subject, v.Principal(p), now, events.StandingLinkOpenedData{Link: v.link.ID}))
	})
	return secret, err
}

// countRefusal counts a refused assertion and returns the refusal. Errors that are no refusal are not counted.
func (s *Links) countRefusal(ctx context.Context, v Visit, p identity.Principal, refusal error) error {
	e := challenge.RefusedAssertion(refusal)
	if e == nil {
		return refusal
	}
	err := s.approvals.store.Write(ctx, func(q *pg.Q) error {
		now := s.approvals.clock.Now()
		failures, err := refuseLink(ctx, q, v.link, now)
		if err != nil || failures == 0 {
			return err
		}
		return events.Append(ctx, q, entryOfLink(v.link, v.subject, v.Principal(p), now,
			events.StandingLinkRefusedData{Link: v.link.ID, Failures: failures, Reason: string(e.Code)}))
	})
	if err != nil {
		return err
	}
	return refusal
}

// Revoke ends a standing approval of the subject whose link this browser opened. It allows nothing more. Revoking one that has ended changes
// nothing; one of a different subject is not found.
func (s *Links) Revoke(ctx context.Context, p identity.Principal, v Visit, id string) (View, error) {
	if v.Closed {
		return View{}, problem.NewNotFound()
	}
	p = v.Principal(p)
	r, err := s.approvals.Get(ctx, p.Store(), id)
	if err != nil {
		return View{}, err
	}
	if r.Subject != v.subject.ExternalID {
		return View{}, problem.NewNotFound()
	}
	return s.approvals.Revoke(ctx, p, id)
}
