package sso

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// FlowLife is how long a person may take to sign in at their provider.
	FlowLife = 10 * time.Minute
	// FlowCookie begins the name of the cookie of a sign-in.
	FlowCookie = "console_provider_"
	// maxFlows is how many sign-ins a browser can have under way. Their cookies share the 8 KiB of a request's headers.
	maxFlows = 4
	// maxNext limits the page to open afterwards, in bytes: it is part of the cookie.
	maxNext = 512
)

// flow is a sign-in under way. The browser stores it sealed, in a cookie: a response that arrives in a different browser is refused,
// and the service stores nothing for those who only begin.
type flow struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE (RFC 7636)
	Next     string `json:"t"` // page to open afterwards
	Ends     int64  `json:"e"` // milliseconds
	Test     bool   `json:"x,omitempty"`
}

// Begun is a sign-in that begins: the address to send the browser to and the cookie that it must bring back.
type Begun struct {
	URL    string
	Name   string // of the cookie
	Cookie string
}

// CookieOf returns the name of the cookie of the sign-in with a state. Each sign-in has a cookie of its own, so that several tabs can sign
// in at once, and a response with a foreign state reaches no cookie. The state is hashed because a response may bring any text.
func CookieOf(state string) string {
	sum := sha256.Sum256([]byte("identity provider cookie\x00" + state))
	return FlowCookie + hex.EncodeToString(sum[:8])
}

// Surplus returns the names of the cookies that a browser has to drop before another sign-in begins: those that cannot be used, and the
// oldest beyond maxFlows. cookies has the values of the browser's flow cookies by name.
func (s *Service) Surplus(cookies map[string]string) []string {
	var drop, open []string
	ends := map[string]int64{}
	for _, name := range slices.Sorted(maps.Keys(cookies)) {
		f, err := s.openFlow(cookies[name])
		if err != nil || s.Clock.Now().UnixMilli() >= f.Ends {
			drop = append(drop, name)
			continue
		}
		open, ends[name] = append(open, name), f.Ends
	}
	slices.SortStableFunc(open, func(a, b string) int { return cmp.Compare(ends[a], ends[b]) })
	return append(drop, open[:max(0, len(open)-maxFlows+1)]...)
}

// Begin begins a sign-in with a tenant's provider. next is the page to open afterwards; a very long one is left out.
func (s *Service) Begin(ctx context.Context, tenant, name, next string) (Begun, error) {
	return s.begin(ctx, tenant, name, flow{Next: next})
}

// BeginTest begins a test sign-in, which opens no session and changes nothing: it ends with what the provider says of the account (Finished.Tested).
func (s *Service) BeginTest(ctx context.Context, tenant, name, next string) (Begun, error) {
	return s.begin(ctx, tenant, name, flow{Next: next, Test: true})
}

func (s *Service) begin(ctx context.Context, tenant, name string, f flow) (Begun, error) {
	row, err := s.named(ctx, tenant, name)
	if err != nil {
		return Begun{}, err
	}
	p, err := s.metadata(ctx, row)
	if err != nil {
		return Begun{}, err
	}
	if len(f.Next) > maxNext {
		f.Next = ""
	}
	// The nonce binds the ID token to this browser, the verifier binds the code to it, and the state binds the response.
	f.Provider, f.State, f.Nonce, f.Verifier, f.Ends = row.ID, rand.Text(), rand.Text(), oauth2.GenerateVerifier(), s.Clock.Now().Add(FlowLife).UnixMilli()
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
		Name:   CookieOf(f.State),
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

// Finished is a completed sign-in. Provider is also set for a sign-in that failed, if the provider exists.
type Finished struct {
	Provider models.IdentityProvider
	Opened   staff.Opened
	Next     string
	Tested   *staff.Account // what the provider says of the account, after a test sign-in, which opens no session; nil otherwise
}

// Finish completes a sign-in: it checks the response, exchanges the code, verifies the ID token and opens a session. ReasonOf
// returns why it refused.
func (s *Service) Finish(ctx context.Context, tenant, name string, in Callback, requestID string) (Finished, error) {
	row, err := s.named(ctx, tenant, name)
	if err != nil {
		return Finished{}, err
	}
	out := Finished{Provider: row}
	f, err := s.flowOf(in, row)
	if err != nil {
		return out, err
	}
	account, err := s.accountOf(ctx, row, in, f)
	if err != nil {
		return out, err
	}
	out.Next = f.Next
	if f.Test {
		out.Tested = &account
		return out, nil
	}
	out.Opened, err = s.People.SignInFrom(ctx, account, requestID)
	return out, err
}

// accountOf exchanges the code of a response for the account that it is for.
func (s *Service) accountOf(ctx context.Context, row models.IdentityProvider, in Callback, f flow) (staff.Account, error) {
	p, err := s.metadata(ctx, row)
	if err != nil {
		return staff.Account{}, err
	}
	// RFC 9207: a response that names a different issuer belongs to a different provider, whose code must not be sent to this
	// one. A provider that promises the parameter and leaves it out may be an attacker who removed it.
	if in.Issuer != p.issuer && (in.Issuer != "" || p.namesSelf) {
		return staff.Account{}, refuse(ReasonMixUp, nil)
	}
	if in.Error != "" || in.Code == "" {
		return staff.Account{}, refuse(ReasonReported, nil)
	}
	token, err := s.exchange(ctx, p, row, in.Code, f.Verifier)
	if err != nil {
		return staff.Account{}, err
	}
	account, err := s.account(ctx, p, row, token, f.Nonce)
	if err != nil {
		return staff.Account{}, err
	}
	// The state is random and of this flow only, so its digest makes the response usable once even if the provider accepts a
	// code twice.
	signIn := sha256.Sum256([]byte("identity provider sign-in\x00" + f.State))
	account.SignIn = signIn[:]
	return account, nil
}

// flowOf opens the flow of the browser's cookie and compares it with the response.
func (s *Service) flowOf(in Callback, row models.IdentityProvider) (flow, error) {
	f, err := s.openFlow(in.Cookie)
	if err != nil {
		return f, refuse(ReasonState, err)
	}
	if f.Provider != row.ID || !same(f.State, in.State) || s.Clock.Now().UnixMilli() >= f.Ends {
		return f, refuse(ReasonState, nil)
	}
	return f, nil
}

func (s *Service) openFlow(cookie string) (flow, error) {
	var f flow
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil {
		return f, err
	}
	raw, err := s.Keys.Open(flowPurpose, sealed, nil)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(raw, &f)
}

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

func (s *Service) named(ctx context.Context, tenant, name string) (models.IdentityProvider, error) {
	row, err := Named(ctx, s.Store.Q, tenant, name)
	if errors.Is(err, pg.ErrNotFound) {
		return row, problem.NewNotFound()
	}
	return row, err
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
