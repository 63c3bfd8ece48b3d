// Package sso signs staff in to the console with their company's OpenID Connect provider: authorization code with PKCE, state and
// nonce bound to the browser, and back-channel logout.
//
// The packages go-oidc and oauth2 speak the protocol and verify signatures; package staff makes the people and their sessions.
// A sign-in has two requests. Begin seals state, nonce and code verifier into a cookie and sends the browser to the provider.
// Finish compares the response with the cookie, exchanges the code, verifies the ID token and has package staff open a session
// with the roles of the groups. Nothing is stored in between, so that a flood of begun sign-ins costs no memory and no rows.
//
// The specifications are OpenID Connect Core 1.0, Discovery 1.0 and Back-Channel Logout 1.0, RFC 7636 (PKCE), RFC 9207 (issuer
// in the response) and RFC 9700 (best current practice), which recommends one redirect URI for each provider: the name of the
// provider is part of its path.
//
// The package may not store tokens or groups, and may not log what a provider sends: refusals are reported by reason.
package sso

import (
	"context"
	"errors"
	"net/http"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/cache"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	secretPurpose = "identity-provider-secret" // of the keyring
	flowPurpose   = "identity-provider-flow"
)

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store  *pg.Store
	Keys   *keyring.Keyring
	Clock  clock.Clock
	People *staff.Service
	// BaseURL is the public URL of the service without a slash at the end.
	BaseURL string
	// Client makes the requests to providers. It must check the address of every connection: a provider's metadata names
	// further URLs.
	Client *http.Client
	// Directory says what the company's directory knows of an account.
	Directory Directory
	// CheckURL returns a sentence that says why the Client would refuse a URL; empty if it would not.
	CheckURL func(url string) string
}

// Directory is the directory that provisions a tenant's staff (package directory).
type Directory interface {
	Lookup(ctx context.Context, q *pg.Q, provider models.IdentityProvider, subject string) (staff.Provisioned, error)
}

// Service signs staff in with identity providers. It is safe for concurrent use.
type Service struct {
	Deps
	known cache.Cache[*provider] // by id of the identity provider
	keys  *foreignjwt.Keys
}

// New returns a service.
func New(d Deps) *Service {
	d.Client = foreignjwt.Client(d.Client, d.CheckURL, d.Clock)
	return &Service{Deps: d, known: cache.Cache[*provider]{Max: foreignjwt.MaxDocuments}, keys: foreignjwt.NewKeys(d.Client, d.Clock)}
}

// Reason says why a sign-in or a logout was refused. It contains nothing that the provider or the browser sent.
type Reason string

// The reasons. docs/single-sign-on.md explains each.
const (
	ReasonState         Reason = "state"          // no flow of this browser, or its time is over
	ReasonReported      Reason = "reported"       // the provider reported an error instead of a code
	ReasonMixUp         Reason = "iss"            // the response is another provider's (RFC 9207)
	ReasonExchange      Reason = "code"           // the provider rejected the code or the client
	ReasonIDToken       Reason = "id_token"       // missing or malformed
	ReasonAlgorithm     Reason = "algorithm"      // not a signature of a listed algorithm
	ReasonSignature     Reason = "signature"      // no key of the provider made it
	ReasonIssuer        Reason = "issuer"         // of the token
	ReasonAudience      Reason = "audience"       // the token is for a different client
	ReasonExpired       Reason = "expired"        // the token
	ReasonNonce         Reason = "nonce"          // the token is of a different sign-in
	ReasonAccessToken   Reason = "at_hash"        // the access token is not the one that the ID token names
	ReasonUserInfo      Reason = "userinfo"       // unreadable, or of a different subject
	ReasonLogoutToken   Reason = "logout_token"   // malformed, or not a logout token
	ReasonUnreachable   Reason = "unreachable"    // the provider cannot be reached or its metadata is unusable
	ReasonConfiguration Reason = "secret_missing" // the client secret cannot be read
)

// Refusal is the cause of a problem that this package returns.
type Refusal struct {
	Reason Reason
	Cause  error // may quote what the provider sent: not for logs
}

// Error implements error. It does not include the cause.
func (r *Refusal) Error() string { return "sso: refused: " + string(r.Reason) }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// ReasonOf returns why err refused a sign-in; empty if it is no refusal of this package.
func ReasonOf(err error) Reason {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

// CauseOf returns the underlying error of a refusal, for an operator's terminal; nil if there is none.
func CauseOf(err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Cause
	}
	return nil
}

// refuse returns the problem of a refused sign-in.
func refuse(reason Reason, cause error) error {
	detail := "The sign-in with the identity provider was refused (" + string(reason) + "). Start again from the sign-in page. If it is refused again, send the reason in brackets to an operator of this service."
	if reason == ReasonState {
		detail = "The sign-in took longer than 10 minutes, was already used, or began in a different browser. Start again from the sign-in page."
	}
	return &problem.Error{Code: problem.Forbidden, Detail: detail, Cause: &Refusal{reason, cause}}
}

// unreachable returns the problem of a provider that cannot be asked.
func unreachable(cause error) error {
	return &problem.Error{Code: problem.Unavailable, Detail: "The identity provider cannot be reached. Try again in a minute; if it lasts, ask an operator of this service for an invitation.",
		Cause: &Refusal{ReasonUnreachable, cause}}
}

// Path returns the path of the pages of a provider.
func Path(tenant, name string) string { return "/console/sign-in/" + tenant + "/" + name }

// Addresses are the URLs that a provider is registered with.
type Addresses struct {
	SignIn, Callback, Logout string
}

// AddressesOf returns the URLs of a provider. They are known before the provider is set up.
func (s *Service) AddressesOf(tenant, name string) Addresses {
	at := s.BaseURL + Path(tenant, name)
	return Addresses{SignIn: at, Callback: at + "/callback", Logout: at + "/logout"}
}

// RolesOf returns the roles that groups give, by environment. Groups without a grant are ignored: a provider lists all groups of
// a person, most of which have nothing to do with the console.
func RolesOf(grants []models.ProviderGrant, groups []string) map[string][]models.Role {
	member := make(map[string]bool, len(groups))
	for _, g := range groups {
		member[g] = true
	}
	out := map[string][]models.Role{}
	for _, g := range grants {
		if member[g.Group] {
			out[g.Environment] = union(out[g.Environment], g.Roles)
		}
	}
	return out
}
