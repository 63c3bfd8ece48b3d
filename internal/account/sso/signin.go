package sso

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"golang.org/x/oauth2"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// FlowLife is how long a person may take to sign in at their provider.
const FlowLife = 10 * time.Minute

// flow is a sign-in under way. The browser stores it sealed, in a cookie: a response that arrives in a different browser is refused,
// and the service stores nothing for those who only begin.
type flow struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE (RFC 7636)
	Next     string `json:"t"` // page to open afterwards
	Ends     int64  `json:"e"` // milliseconds
}

// Begun is a sign-in that begins: the address to send the browser to and the cookie that it must bring back.
type Begun struct {
	URL    string
	Cookie string
}

// Begin begins a sign-in with a tenant's provider. next is the page to open afterwards.
func (s *Service) Begin(ctx context.Context, tenant, name, next string) (Begun, error) {
	row, err := s.named(ctx, tenant, name)
	if err != nil {
		return Begun{}, err
	}
	p, err := s.metadata(ctx, row)
	if err != nil {
		return Begun{}, err
	}
	// The nonce binds the ID token to this browser, the verifier binds the code to it, and the state binds the response.
	f := flow{
		Provider: row.ID, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next,
		Ends: s.Clock.Now().Add(FlowLife).UnixMilli(),
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return Begun{}, err
	}
	sealed, err := s.Keys.Seal(flowPurpose, raw, nil)
	if err != nil {
		return Begun{}, err
	}
	client := s.client(p, row)
	return Begun{
		URL:    client.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)),
		Cookie: base64.RawURLEncoding.EncodeToString(sealed),
	}, nil
}

// Callback contains the parameters that the browser brings back from the provider, with its cookie. None of them can be trusted:
// anyone can open the address.
type Callback struct {
	Cookie, State, Code string
	Issuer              string // parameter iss; empty if there is none
	Error               string // parameter error; empty for none
}

// Finished is a completed sign-in.
type Finished struct {
	Opened staff.Opened
	Next   string
}

// Finish completes a sign-in: it checks the response, exchanges the code, verifies the ID token and opens a session. ReasonOf
// returns why it refused.
func (s *Service) Finish(ctx context.Context, tenant, name string, in Callback, requestID string) (Finished, error) {
	row, err := s.named(ctx, tenant, name)
	if err != nil {
		return Finished{}, err
	}
	f, err := s.flowOf(in, row)
	if err != nil {
		return Finished{}, err
	}
	p, err := s.metadata(ctx, row)
	if err != nil {
		return Finished{}, err
	}
	// RFC 9207: a response that names a different issuer belongs to a different provider, whose code must not be sent to this
	// one. A provider that promises the parameter and leaves it out may be an attacker who removed it.
	if in.Issuer != p.issuer && (in.Issuer != "" || p.namesSelf) {
		return Finished{}, refuse(ReasonMixUp, nil)
	}
	if in.Error != "" || in.Code == "" {
		return Finished{}, refuse(ReasonReported, nil)
	}
	token, err := s.exchange(ctx, p, row, in.Code, f.Verifier)
	if err != nil {
		return Finished{}, err
	}
	account, err := s.account(ctx, p, row, token, f.Nonce)
	if err != nil {
		return Finished{}, err
	}
	// The state is random and of this flow only, so its digest makes the response usable once even if the provider accepts a
	// code twice.
	signIn := sha256.Sum256([]byte("identity provider sign-in\x00" + f.State))
	account.SignIn = signIn[:]
	opened, err := s.People.SignInFrom(ctx, account, requestID)
	return Finished{Opened: opened, Next: f.Next}, err
}

// flowOf opens the flow of the browser's cookie and compares it with the response.
func (s *Service) flowOf(in Callback, row models.IdentityProvider) (flow, error) {
	var f flow
	sealed, err := base64.RawURLEncoding.DecodeString(in.Cookie)
	if err != nil || in.Cookie == "" {
		return f, refuse(ReasonState, err)
	}
	raw, err := s.Keys.Open(flowPurpose, sealed, nil)
	if err != nil {
		return f, refuse(ReasonState, err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, err
	}
	if f.Provider != row.ID || !same(f.State, in.State) || s.Clock.Now().UnixMilli() >= f.Ends {
		return f, refuse(ReasonState, nil)
	}
	return f, nil
}

// exchange exchanges the code for tokens.
func (s *Service) exchange(ctx context.Context, p *provider, row models.IdentityProvider, code, verifier string) (*oauth2.Token, error) {
	secret, err := s.Keys.Open(secretPurpose, row.ClientSecret, []byte(row.ID))
	if err != nil {
		return nil, refuse(ReasonConfiguration, err)
	}
	client := s.client(p, row)
	client.ClientSecret = string(secret)
	token, err := client.Exchange(oidc.ClientContext(ctx, s.Client), code, oauth2.VerifierOption(verifier))
	var rejected *oauth2.RetrieveError
	switch {
	case errors.As(err, &rejected):
		return nil, refuse(ReasonExchange, err)
	case err != nil:
		return nil, unreachable(err)
	}
	return token, nil
}

// named returns a tenant's provider.
func (s *Service) named(ctx context.Context, tenant, name string) (models.IdentityProvider, error) {
	row, err := s.Store.IdentityProviders().Named(ctx, tenant, name)
	if errors.Is(err, store.ErrNotFound) {
		return row, problem.NewNotFound()
	}
	return row, err
}

// same compares secrets in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
