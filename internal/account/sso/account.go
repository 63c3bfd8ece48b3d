package sso

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// claims are those of an ID token or a userinfo response that are used.
type claims map[string]json.RawMessage

// text returns a claim that is a string; empty if there is none.
func (c claims) text(name string) string {
	var out string
	if json.Unmarshal(c[name], &out) != nil {
		return ""
	}
	return out
}

// list returns a claim that is a list of strings, or one string. A list of more than maxGroups gives none, rather than the first of them.
func (c claims) list(name string) []string {
	var out []string
	if json.Unmarshal(c[name], &out) == nil {
		if len(out) > maxGroups {
			return nil
		}
		return out
	}
	if one := c.text(name); one != "" {
		return []string{one}
	}
	return nil
}

// account verifies the ID token of a sign-in (OpenID Connect Core 1.0, section 3.1.3.7) and reads the account from it.
func (s *Service) account(ctx context.Context, p *provider, row models.IdentityProvider, token *oauth2.Token, nonce string) (staff.Account, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return staff.Account{}, refuse(ReasonIDToken, nil)
	}
	bounded, err := idToken.Read(raw)
	if err != nil {
		return staff.Account{}, refuse(reasonOfForm(err), err)
	}
	c := claims(bounded)
	verified, err := s.verifier(p, row).Verify(ctx, raw)
	if err != nil {
		return staff.Account{}, refuse(reasonOf(err), err)
	}
	// The token may be for several clients; only the one that it was issued to may use it (azp).
	// Without that claim, a token for several clients could come from any of them.
	switch party := c.text("azp"); {
	case party != "" && party != row.ClientID, party == "" && len(verified.Audience) > 1:
		return staff.Account{}, refuse(ReasonAudience, nil)
	case !same(verified.Nonce, nonce):
		return staff.Account{}, refuse(ReasonNonce, nil)
	case verified.Subject == "" || verified.IssuedAt.After(s.Clock.Now().Add(foreignjwt.Ahead)):
		return staff.Account{}, refuse(ReasonIDToken, nil)
	}
	// The access token reads the groups at the userinfo endpoint, so it must belong to this ID token.
	if verified.AccessTokenHash != "" {
		if err := verified.VerifyAccessToken(token.AccessToken); err != nil {
			return staff.Account{}, refuse(ReasonAccessToken, err)
		}
	}
	if c, err = s.complete(ctx, p, row, token, c); err != nil {
		return staff.Account{}, err
	}
	grants, err := row.GroupGrants()
	if err != nil {
		return staff.Account{}, err
	}
	return staff.Account{
		Provider: row, Subject: verified.Subject, Session: c.text("sid"), Name: cmp.Or(c.text("name"), c.text("preferred_username")),
		Roles: RolesOf(grants, c.list(row.GroupsClaim)), Address: c.address(),
		Directory: func(ctx context.Context, q *pg.Q) (staff.Provisioned, error) {
			return s.Directory.Lookup(ctx, q, row, verified.Subject)
		},
	}, nil
}

// address returns the e-mail address that the provider has verified (OpenID Connect Core 1.0, section 5.1); empty for any other.
func (c claims) address() string {
	var verified bool
	if json.Unmarshal(c["email_verified"], &verified) != nil || !verified || staff.CheckAddress(c.text("email")) != nil {
		return ""
	}
	return c.text("email")
}

// complete adds the claims of the userinfo endpoint if the ID token does not list the groups. Some providers put only the
// identity into the token.
func (s *Service) complete(ctx context.Context, p *provider, row models.IdentityProvider, token *oauth2.Token, c claims) (claims, error) {
	if _, listed := c[row.GroupsClaim]; listed || p.UserInfoEndpoint() == "" {
		return c, nil
	}
	raw, err := foreignjwt.Get(ctx, s.Client, foreignjwt.Request{
		URL: p.UserInfoEndpoint(), Limit: maxIDToken, Header: http.Header{"Authorization": {"Bearer " + token.AccessToken}, "Accept": {"application/json"}},
	})
	if err != nil {
		return nil, refuse(ReasonUserInfo, err)
	}
	found, err := foreignjwt.ReadClaims(raw)
	if err == nil {
		err = found.Bounded()
	}
	if err != nil {
		return nil, refuse(ReasonUserInfo, err)
	}
	more := claims(found)
	// Section 5.3.2: without this comparison the response could be another person's.
	if !same(more.text("sub"), c.text("sub")) {
		return nil, refuse(ReasonUserInfo, nil)
	}
	names := []string{row.GroupsClaim, "name", "preferred_username"}
	// What verifies an address comes with it.
	if _, has := c["email"]; !has {
		delete(c, "email_verified")
		names = append(names, "email", "email_verified")
	}
	for _, name := range names {
		if _, has := c[name]; !has {
			c[name] = more[name]
		}
	}
	return c, nil
}

// reasons are the beginnings of go-oidc's messages, which has no errors to compare with except that of an expired token.
var reasons = []struct {
	begins string
	reason Reason
}{
	{"oidc: malformed jwt", ReasonAlgorithm},
	{"oidc: id token not signed", ReasonAlgorithm},
	{"failed to verify signature", ReasonSignature},
	{"oidc: id token issued by a different provider", ReasonIssuer},
	{"oidc: logout token issued by a different provider", ReasonIssuer},
	{"oidc: expected audience", ReasonAudience},
	{"oidc: expected logout token audience", ReasonAudience},
}

// reasonOf returns why go-oidc refused a token.
func reasonOf(err error) Reason {
	var expired *oidc.TokenExpiredError
	if errors.As(err, &expired) {
		return ReasonExpired
	}
	for _, r := range reasons {
		if strings.HasPrefix(err.Error(), r.begins) {
			return r.reason
		}
	}
	return ReasonIDToken
}

// Logout ends the sessions that a logout token names (OpenID Connect Back-Channel Logout 1.0). Every token is accepted once; a
// refusal is a forbidden or a conflict problem.
func (s *Service) Logout(ctx context.Context, tenant, name, raw, requestID string) error {
	row, err := s.named(ctx, tenant, name)
	if err != nil {
		return err
	}
	p, err := s.metadata(ctx, row)
	if err != nil {
		return err
	}
	refused := func(reason Reason, err error) error {
		if reason == ReasonIDToken {
			reason = ReasonLogoutToken
		}
		return refuse(reason, err)
	}
	now := s.Clock.Now()
	c, err := logoutToken.Read(raw)
	if err == nil {
		err = claims(c).logsOut(now)
	}
	if err != nil {
		return refused(reasonOfForm(err), err)
	}
	token, err := s.verifier(p, row).VerifyLogout(ctx, raw)
	if err != nil {
		return refused(reasonOf(err), err)
	}
	// A token is too old before the record of its use ends, whatever its exp.
	ends := now.Add(2 * (logoutWithin + foreignjwt.Ahead))
	digest := sha256.Sum256([]byte(token.TokenID))
	err = s.People.SignOutFrom(ctx, staff.Logout{Provider: row, Subject: token.Subject, Session: token.SessionID, Token: digest[:], ExpiresAt: ends}, requestID)
	if problem.Is(err, problem.Conflict) {
		return refuse(ReasonLogoutToken, err)
	}
	return err
}
