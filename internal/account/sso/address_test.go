package sso

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyAVerifiedAddressIsTaken(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"email": "ann@bank.example", "email_verified": true}`:       "ann@bank.example",
		`{"email": "ann@bank.example", "email_verified": false}`:      "",
		`{"email": "ann@bank.example", "email_verified": "true"}`:     "",
		`{"email": "ann@bank.example", "email_verified": 1}`:          "",
		`{"email": "ann@bank.example"}`:                               "",
		`{"email_verified": true}`:                                    "",
		`{"email": "Ann <ann@bank.example>", "email_verified": true}`: "",
		`{"email": ["ann@bank.example"], "email_verified": true}`:     "",
	} {
		var c claims
		require.NoError(t, json.Unmarshal([]byte(given), &c))
		require.Equal(t, want, c.address(), given)
	}
}
