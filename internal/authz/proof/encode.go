package proof

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/jsonappend"
)

// usualClaims is the number of claims of an assurance profile, and usualSize the size of a claim set in bytes, that need no more memory.
const (
	usualClaims = 16
	usualSize   = 1536
)

// encode returns the claim set as encoding/json encodes it, with a tenth of its objects. Assurance.Claims and Methods are not nil.
func (c Claims) encode() []byte {
	b := make([]byte, 0, usualSize)
	b = jsonappend.Text(b, `{"iss":`, c.Issuer)
	b = jsonappend.Text(b, `,"sub":`, c.Subject)
	b = jsonappend.Text(b, `,"aud":`, c.Audience)
	b = jsonappend.Integer(b, `,"iat":`, c.IssuedAt)
	b = jsonappend.Integer(b, `,"nbf":`, c.NotBefore)
	b = jsonappend.Integer(b, `,"exp":`, c.Expires)
	b = jsonappend.Text(b, `,"jti":`, c.ID)
	b = jsonappend.Text(b, `,"nonce":`, c.Nonce)
	b = jsonappend.Text(b, `,"env":`, c.Environment)
	b = jsonappend.Text(b, `,"env_kind":`, c.EnvironmentKind)
	b = jsonappend.Text(b, `,"mode":`, c.Mode)
	b = jsonappend.Text(b, `,"azn":`, c.Authorization)
	b = jsonappend.Text(b, `,"act":{"key":`, c.Action.Key)
	b = jsonappend.Text(b, `,"hash":`, c.Action.Hash)
	b = jsonappend.Integer(b, `,"policy_version":`, int64(c.Action.PolicyVersion))
	b = jsonappend.Text(b, `,"content_hash":`, c.Action.ContentHash)
	b = jsonappend.Text(b, `},"res":{"type":`, c.Resource.Type)
	b = jsonappend.Text(b, `,"digest":`, c.Resource.Digest)
	b = jsonappend.Text(b, `},"ctx":`, c.Context)
	b = c.Assurance.append(append(b, `,"assurance":`...))
	return append(jsonappend.Texts(b, `,"amr":`, c.Methods), '}')
}

// append appends the assurance with its claims in the order of their names.
func (a Assurance) append(b []byte) []byte {
	b = jsonappend.Text(b, `{"coverage":`, a.Coverage)
	b = jsonappend.OptionalInteger(b, `,"freshness_ms":`, a.FreshnessMS)
	names := make([]string, 0, usualClaims)
	for name := range a.Claims {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, `,"claims":{`...)
	for i, name := range names {
		b = jsonappend.Text(b, jsonappend.Separator(i), name)
		b = jsonappend.Text(b, ":", a.Claims[name])
	}
	return append(b, '}', '}')
}
