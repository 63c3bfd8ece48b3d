package challenge

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/webname"
	"github.com/countersign-dev/countersign/models"
)

// ticketPurpose names the keyring's subkey for the MACs of tickets.
const ticketPurpose = "challenge-link"

// ticketSize is the number of random bytes of a ticket.
const ticketSize = 32

// ticketForm matches tickets: the random bytes in base64url.
var ticketForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// IsTicket reports whether a text has the form of a ticket. Other values need not be looked up.
func IsTicket(text string) bool { return ticketForm.MatchString(text) }

// NewTicket returns a ticket, or any other secret of a link, that no one can guess.
func NewTicket() string { return base64.RawURLEncoding.EncodeToString(RandomBytes()) }

// LinkPath is the path of challenge links; the id of the challenge follows it. The ticket follows the id in the URL fragment,
// so that no request carries it into the log of a server or a proxy.
const LinkPath = "/challenge/"

// Link opens one challenge in a browser until it expires.
type Link struct {
	// URL contains the ticket and is a secret of the user: it must not be logged.
	URL       string
	ExpiresAt time.Time
}

// LinkOptions say what a link does.
type LinkOptions struct {
	ReturnURL string // where the page sends the user after the challenge; empty for nowhere
	// ForClient makes a link that may pass through other hands, such as an agent's: the page shows the request only to a browser in which
	// the subject used a passkey.
	ForClient bool
}

// CreateLink creates a link. The ticket is only in the URL; the database stores its MAC.
func (s *Service) CreateLink(ctx context.Context, p identity.Principal, id string, o LinkOptions) (Link, error) {
	c, err := readCase(ctx, s.store.Q, p.Store(), id, nil)
	if err != nil {
		return Link{}, err
	}
	if err := refuseSettled(Effective(c.Challenge, s.clock.Now())); err != nil {
		return Link{}, err
	}
	env, err := tenancy.GetEnvironment(ctx, s.store.Q, p.Store())
	if err != nil {
		return Link{}, err
	}
	back, err := AllowedReturn(env, o.ReturnURL)
	if err != nil {
		return Link{}, problem.Invalid([]any{"body", "return_url"}, err.Error(), "return_url_not_allowed")
	}
	ticket := NewTicket()
	now := s.clock.Now()
	row := models.ChallengeLink{
		MAC: s.keyring.MAC(ticketPurpose, []byte(ticket)), EnvironmentID: c.EnvironmentID, ChallengeID: c.ID, CredentialID: p.CredentialID,
		ReturnURL: back, CreatedAt: now, ExpiresAt: c.ExpiresAt,
	}
	data := events.ChallengeLinkCreatedData{Challenge: c.ID}
	if o.ForClient {
		row.ForClient, row.Random, data.For = true, RandomBytes(), "client"
	}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		if err := insertLink(ctx, q, row); err != nil {
			return err
		}
		e := c.entry(now, p.Actor(), data)
		e.RequestID = p.RequestID
		return events.Append(ctx, q, e)
	})
	return Link{URL: s.linkPrefix(env) + c.ID + "#" + ticket, ExpiresAt: c.ExpiresAt}, err
}

// RandomBytes returns 32 bytes that no one can guess.
func RandomBytes() []byte {
	raw := make([]byte, ticketSize)
	_, _ = rand.Read(raw) // never fails: it ends the process instead
	return raw
}

func (s *Service) linkPrefix(env models.Environment) string {
	if env.PageOrigin != nil {
		return *env.PageOrigin + LinkPath
	}
	return s.linkBase
}

// Visit is a challenge that was opened with a link's ticket.
type Visit struct {
	// View has neither a display nor what follows from it while the link is closed.
	View
	Environment models.Environment
	// Closed reports that the link is for a client and this browser has not opened it: OpenLink does.
	Closed    bool
	ReturnURL string // still allowed; empty for none, and while the link is closed
	Passkeys  int    // number of passkeys that the subject can use
}

// Scope returns the environment of the challenge.
func (v Visit) Scope() pg.Scope {
	return pg.Scope{Tenant: v.Environment.TenantID, Environment: v.Environment.ID}
}

// Framers returns the origins that may show the page of a challenge in a frame; none for an unknown challenge. It requires no
// authentication: the address of the page is no secret, and the page shows nothing of the challenge.
func (s *Service) Framers(ctx context.Context, id string) ([]string, error) {
	env, err := environmentOfChallenge(ctx, s.store.Q, id)
	if notFound(err) {
		return nil, nil
	}
	return env.FrameAncestors, err
}

// ByTicket returns the challenge that a link's ticket opens. The secret is that of the browser, which OpenLink returned; empty for none. A
// ticket that is wrong or has ended returns the same error, not_found.
func (s *Service) ByTicket(ctx context.Context, ticket, secret string) (Visit, error) {
	link, c, err := s.liveLink(ctx, ticket)
	if err != nil {
		return Visit{}, err
	}
	scope := pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID}
	env, err := tenancy.BrandedEnvironment(ctx, s.store.Q, scope)
	if err != nil {
		return Visit{}, err
	}
	passkeys, err := PasskeysForChallenge(ctx, s.store.Q, scope, c)
	if err != nil {
		return Visit{}, err
	}
	v := Visit{Environment: env, Passkeys: len(passkeys)}
	if link.ForClient && !s.opened(link, secret) {
		v.Closed = true
		v.View = View{ID: c.ID, Status: Effective(c, s.clock.Now()), Methods: c.Methods, ExpiresAt: c.ExpiresAt}
		return v, nil
	}
	if v.View, err = s.view(ctx, c); err != nil {
		return Visit{}, err
	}
	if link.ReturnURL != nil {
		if back, err := AllowedReturn(env, *link.ReturnURL); err == nil && back != nil { // the allowed origins may have changed since
			v.ReturnURL = *back
		}
	}
	return v, nil
}

// liveLink returns the link of a ticket and its challenge. A ticket that is wrong or has ended returns the same error, not_found.
func (s *Service) liveLink(ctx context.Context, ticket string) (models.ChallengeLink, models.Challenge, error) {
	now := s.clock.Now()
	link, c, err := challengeByLink(ctx, s.store.Q, s.keyring.MACs(ticketPurpose, []byte(ticket)), now)
	if notFound(err) || err == nil && link.Failures >= MaxFailures {
		return link, c, problem.NewNotFound()
	}
	if err != nil {
		return link, c, err
	}
	lives, err := identity.CredentialLives(ctx, s.store.Q, pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID}, link.CredentialID, now)
	if err == nil && !lives {
		err = problem.NewNotFound()
	}
	return link, c, err
}

// LinkState is the reason why a link opens nothing.
type LinkState string

// The reasons. A link ends with its challenge and with the credential that requested it.
const (
	LinkUnknown   LinkState = "unknown"   // incomplete, mistyped, or past its retention
	LinkExpired   LinkState = "expired"   // the challenge expired or failed, or the credential has ended
	LinkUsed      LinkState = "used"      // the challenge was completed
	LinkCancelled LinkState = "cancelled" // the challenge was cancelled
	LinkRefused   LinkState = "refused"   // too many attempts to open the link were refused; the challenge goes on
)

// EndedLink is a link that opens nothing.
type EndedLink struct {
	State       LinkState
	Environment models.Environment // zero for an unknown link
}

// Ended returns why the ticket of a challenge's link opens nothing. Only the holder of a real ticket learns anything about the challenge.
func (s *Service) Ended(ctx context.Context, id, ticket string) (EndedLink, error) {
	link, c, err := challengeByLink(ctx, s.store.Q, s.keyring.MACs(ticketPurpose, []byte(ticket)), time.Time{})
	if notFound(err) || err == nil && c.ID != id {
		return EndedLink{State: LinkUnknown}, nil
	}
	if err != nil {
		return EndedLink{}, err
	}
	env, err := tenancy.BrandedEnvironment(ctx, s.store.Q, pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID})
	out := EndedLink{State: LinkExpired, Environment: env}
	switch Effective(c, s.clock.Now()) {
	case models.ChallengeCompleted:
		out.State = LinkUsed
	case models.ChallengeCancelled:
		out.State = LinkCancelled
	case models.ChallengeOpen:
		if link.Failures >= MaxFailures {
			out.State = LinkRefused
		}
	case models.ChallengeExpired, models.ChallengeFailed:
	}
	return out, err
}

// maxReturnURL is the maximum length of a return URL, in bytes.
const maxReturnURL = 2000

const wantReturn = "return_url must be an https URL of at most 2000 characters, without a user."

// AllowedReturn checks that a page of the environment may send users to the URL: its origin must be one of the environment's
// passkey origins or return origins. It returns the normalised URL, and nil for an empty one.
func AllowedReturn(env models.Environment, raw string) (*string, error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || len(raw) > maxReturnURL {
		return nil, errReturn(wantReturn)
	}
	origin, err := webname.OriginOf(u)
	switch {
	case err != nil:
		return nil, errReturn(wantReturn)
	case !slices.Contains(env.RPOrigins, origin) && !slices.Contains(env.ReturnOrigins, origin):
		return nil, errReturn("return_url must have an origin that the environment allows: add it to return_origins by PATCH /api/v1/environment or countersign tenant pages.")
	}
	u.Host = strings.TrimPrefix(origin, u.Scheme+"://")
	clean := u.String() // as parsed: characters that a browser might read differently are escaped
	return &clean, nil
}

// errReturn is the reason why a return URL is not allowed.
type errReturn string

// Error returns a sentence for the caller.
func (e errReturn) Error() string { return string(e) }
