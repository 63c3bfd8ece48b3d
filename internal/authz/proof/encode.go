package proof

import (
	"encoding/json"
	"slices"
	"strconv"
)

// usualClaims is the number of claims of an assurance profile, and usualSize the size of a claim set in bytes, that need no more memory.
const (
	usualClaims = 16
	usualSize   = 1536
)

// encode returns the claim set as encoding/json encodes it, with a tenth of its objects. Assurance.Claims and Methods are not nil.
func (c Claims) encode() []byte {
	b := make([]byte, 0, usualSize)
	b = appendText(b, `{"iss":`, c.Issuer)
	b = appendText(b, `,"sub":`, c.Subject)
	b = appendText(b, `,"aud":`, c.Audience)
	b = appendNumber(b, `,"iat":`, c.IssuedAt)
	b = appendNumber(b, `,"nbf":`, c.NotBefore)
	b = appendNumber(b, `,"exp":`, c.Expires)
	b = appendText(b, `,"jti":`, c.ID)
	b = appendText(b, `,"nonce":`, c.Nonce)
	b = appendText(b, `,"env":`, c.Environment)
	b = appendText(b, `,"env_kind":`, c.EnvironmentKind)
	b = appendText(b, `,"mode":`, c.Mode)
	b = appendText(b, `,"azn":`, c.Authorization)
	b = appendText(b, `,"act":{"key":`, c.Action.Key)
	b = appendText(b, `,"hash":`, c.Action.Hash)
	b = appendNumber(b, `,"policy_version":`, int64(c.Action.PolicyVersion))
	b = appendText(b, `,"content_hash":`, c.Action.ContentHash)
	b = appendText(b, `},"res":{"type":`, c.Resource.Type)
	b = appendText(b, `,"digest":`, c.Resource.Digest)
	b = appendText(b, `},"ctx":`, c.Context)
	b = c.Assurance.append(append(b, `,"assurance":`...))
	b = append(b, `,"amr":[`...)
	for i, m := range c.Methods {
		b = appendText(b, separator(i), m)
	}
	return append(b, ']', '}')
}

// append appends the assurance with its claims in the order of their names.
func (a Assurance) append(b []byte) []byte {
	b = appendText(b, `{"coverage":`, a.Coverage)
	if a.FreshnessMS == nil {
		b = append(b, `,"freshness_ms":null`...)
	} else {
		b = appendNumber(b, `,"freshness_ms":`, *a.FreshnessMS)
	}
	names := make([]string, 0, usualClaims)
	for name := range a.Claims {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, `,"claims":{`...)
	for i, name := range names {
		b = appendText(b, separator(i), name)
		b = appendText(b, ":", a.Claims[name])
	}
	return append(b, '}', '}')
}

// separator returns what precedes the i-th member of a list.
func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

func appendNumber(b []byte, before string, n int64) []byte {
	return strconv.AppendInt(append(b, before...), n, 10)
}

// appendText appends a string behind the bytes that precede it. Only a string with characters that JSON or HTML escapes, or that are not
// ASCII, is left to encoding/json.
func appendText(b []byte, before, s string) []byte {
	b = append(b, before...)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, _ := json.Marshal(s) // a string has no error
			return append(b, escaped...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
