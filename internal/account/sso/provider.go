package sso

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
	"github.com/countersign-dev/countersign/models"
)

const (
	// metadataAge is how long a provider's metadata is used before it is fetched again. Its keys are fetched when needed.
	metadataAge = time.Hour
	// failureAge is how long a failure to fetch the metadata is remembered: clicks on the sign-in page must not become a flood of
	// requests to a provider that is down.
	failureAge = 5 * time.Second
)

// provider is the fetched metadata of an identity provider, or the failure to fetch it.
type provider struct {
	*oidc.Provider
	issuer    string
	keys      oidc.KeySet
	namesSelf bool // the authorization response has the parameter iss (RFC 9207)
	inBody    bool // the token endpoint takes the client secret in the body only
	logout    bool // the provider supports back-channel logout
	failure   error
	until     time.Time // when it must be fetched again
}

// Found lists the parts of a provider's metadata that an operator checks.
type Found struct {
	AuthorizationURL, TokenURL string
	NamesIssuer                bool // RFC 9207
	BackChannelLogout          bool
}

// Probe fetches the metadata of a tenant's provider, to find mistakes in the settings before anyone signs in.
func (s *Service) Probe(ctx context.Context, tenant, name string) (Found, error) {
	row, err := s.named(ctx, tenant, name)
	if err != nil {
		return Found{}, err
	}
	p, err := s.fetch(ctx, row.Issuer)
	if err != nil {
		return Found{}, unreachable(err)
	}
	return Found{AuthorizationURL: p.Endpoint().AuthURL, TokenURL: p.Endpoint().TokenURL, NamesIssuer: p.namesSelf, BackChannelLogout: p.logout}, nil
}

// metadata returns the provider's metadata, which it fetches at most once an hour, and at most every failureAge if that fails.
func (s *Service) metadata(ctx context.Context, row models.IdentityProvider) (*provider, error) {
	now := s.Clock.Now()
	p, _ := s.known.Get(row.ID)
	if p == nil || !now.Before(p.until) || p.issuer != row.Issuer {
		var err error
		p, err = s.known.Fetch(ctx, row.ID, now.Add(metadataAge), func(ctx context.Context) (*provider, error) {
			p, err := s.fetch(ctx, row.Issuer)
			if err != nil {
				return &provider{issuer: row.Issuer, until: now.Add(failureAge), failure: err}, nil //nolint:nilerr // a failure is stored as well
			}
			p.until = now.Add(metadataAge)
			return p, nil
		})
		if err != nil {
			return nil, unreachable(err)
		}
	}
	if p.failure != nil {
		return nil, unreachable(p.failure)
	}
	return p, nil
}

// fetch reads the metadata of an issuer (OpenID Connect Discovery 1.0, section 4).
func (s *Service) fetch(ctx context.Context, issuer string) (*provider, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, s.Client), issuer)
	if err != nil {
		return nil, err
	}
	var claims struct {
		NamesSelf bool     `json:"authorization_response_iss_parameter_supported"`
		Methods   []string `json:"token_endpoint_auth_methods_supported"`
		Logout    bool     `json:"backchannel_logout_supported"`
		Keys      string   `json:"jwks_uri"`
	}
	if err := found.Claims(&claims); err != nil {
		return nil, err
	}
	// The browser visits this one; no request of the client checks it.
	if fault := s.CheckURL(found.Endpoint().AuthURL); fault != "" {
		return nil, errors.New("sso: authorization_endpoint: " + fault)
	}
	inBody := len(claims.Methods) > 0 && !slices.Contains(claims.Methods, "client_secret_basic")
	return &provider{Provider: found, issuer: issuer, keys: s.keys.At(claims.Keys), namesSelf: claims.NamesSelf, inBody: inBody, logout: claims.Logout}, nil
}

// verifier returns the verifier of a provider's tokens for a client. go-oidc checks issuer, audience, expiry and signature; nonce,
// authorized party and access token are checked by account, because go-oidc leaves them to the caller.
func (s *Service) verifier(p *provider, row models.IdentityProvider) *oidc.IDTokenVerifier {
	return oidc.NewVerifier(p.issuer, p.keys, &oidc.Config{ClientID: row.ClientID, SupportedSigningAlgs: foreignjwt.Algorithms, Now: s.Clock.Now})
}

// client returns the OAuth client of a provider. The secret is set only for the exchange of a code.
func (s *Service) client(p *provider, row models.IdentityProvider) oauth2.Config {
	endpoint := p.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.inBody {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return oauth2.Config{ClientID: row.ClientID, Endpoint: endpoint, RedirectURL: s.AddressesOf(row.TenantID, row.Name).Callback, Scopes: row.Scopes}
}
