package sso_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func sortedRoles(roles []models.Role) []models.Role {
	slices.Sort(roles)
	slices.Reverse(roles)
	return roles
}

// raw signs a payload that no encoder would make.
func (f *fakeProvider) raw(payload string) string {
	f.sign = nil
	return f.with("ES256", f.key, []byte(payload))
}

// A claim that a database, a log or a second reader would take for something else is refused before it is used.
func TestIDTokensAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(object)
		sub    string // replaces SUB in the payload as text
	}{
		"NUL in sub":            {func(c object) { c["sub"] = "a\x00b" }, ""},
		"line break in sub":     {func(c object) { c["sub"] = "a\nb" }, ""},
		"long sub":              {func(c object) { c["sub"] = strings.Repeat("a", 256) }, ""},
		"sub is a number":       {func(c object) { c["sub"] = 7 }, ""},
		"NUL in sid":            {func(c object) { c["sid"] = "\x00" }, ""},
		"sid of 9 kB":           {func(c object) { c["sid"] = strings.Repeat("s", 9000) }, ""},
		"exp beyond all years":  {func(c object) { c["exp"] = 1e300 }, ""},
		"iat in the future":     {func(c object) { c["iat"] = c["iat"].(int64) + 3600 }, ""},
		"iat before 1970":       {func(c object) { c["iat"] = -1 }, ""},
		"64 kB":                 {func(c object) { c["padding"] = strings.Repeat("p", 64<<10) }, ""},
		"lone high surrogate":   {func(c object) { c["sub"] = "SUB" }, `\ud800`},
		"lone low surrogate":    {func(c object) { c["sub"] = "SUB" }, `\udfff`},
		"a second sub":          {func(c object) { c["sub"] = "SUB" }, `a","sub":"b`},
		"a second sub in upper": {func(c object) { c["sub"] = "SUB" }, `a","SUB":"b`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.fake.change = c.change
			if c.sub != "" {
				b.fake.sign = func(payload []byte) string { return b.fake.raw(strings.ReplaceAll(string(payload), "SUB", c.sub)) }
			}
			_, err := b.signIn()
			require.Equal(t, sso.ReasonIDToken, sso.ReasonOf(err), "%v", err)
		})
	}
}

func TestTokensOfOtherTypesAreRefused(t *testing.T) {
	t.Parallel()
	for typ, accepted := range map[string]bool{"JWT": true, "application/jwt": true, "at+jwt": false, "logout+jwt": false, "secevent+jwt": false} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.fake.typ = typ
			_, err := b.signIn()
			require.Equal(t, accepted, err == nil, "%v", err)
		})
	}
}

func TestLogoutTokensAreBounded(t *testing.T) {
	t.Parallel()
	event := "http://schemas.openid.net/event/backchannel-logout"
	b := setup(t)
	b.signedIn()
	now := b.clock.Now()
	for name, c := range map[string]struct {
		change   object
		typ      string
		accepted bool
	}{
		"of a type of its own":   {object{}, "logout+jwt", true},
		"far exp":                {object{"exp": now.AddDate(200, 0, 0).Unix()}, "", true},
		"exp beyond all years":   {object{"exp": 1e18}, "", false},
		"an access token":        {object{}, "at+jwt", false},
		"events null":            {object{"events": json.RawMessage("null")}, "", false},
		"events a list":          {object{"events": []any{event}}, "", false},
		"event null":             {object{"events": object{event: json.RawMessage("null")}}, "", false},
		"event a text":           {object{"events": object{event: "yes"}}, "", false},
		"another event":          {object{"events": object{"urn:other": object{}}}, "", false},
		"no iat":                 {object{"iat": nil}, "", false},
		"iat an hour ago":        {object{"iat": now.Add(-time.Hour).Unix()}, "", false},
		"iat in an hour":         {object{"iat": now.Add(time.Hour).Unix()}, "", false},
		"iat a text":             {object{"iat": "now"}, "", false},
		"NUL in sub":             {object{"sub": "subject-1\x00"}, "", false},
		"sid of 9 kB":            {object{"sid": strings.Repeat("s", 9000)}, "", false},
		"NUL in sid, no sub":     {object{"sub": nil, "sid": "\x00"}, "", false},
		"jti of 300 characters":  {object{"jti": strings.Repeat("j", 300)}, "", false},
		"a nonce, even an empty": {object{"nonce": ""}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			b.fake.typ = c.typ
			err := b.service.Logout(t.Context(), b.env.TenantID, "corp", b.fake.logoutToken(c.change), "req_1")
			if c.accepted {
				require.NoError(t, err)
				return
			}
			require.Equal(t, sso.ReasonLogoutToken, sso.ReasonOf(err), "%v", err)
		})
	}
}

// A far exp does not make a token usable for years: it counts from iat, and its record is kept longer than that.
func TestLogoutTokenIsUsedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.fake.logoutToken(object{"exp": b.clock.Now().AddDate(1, 0, 0).Unix()})
	logout := func() sso.Reason {
		return sso.ReasonOf(b.service.Logout(t.Context(), b.env.TenantID, "corp", token, "req_1"))
	}
	require.Empty(t, logout())
	for range 4 {
		require.Equal(t, sso.ReasonLogoutToken, logout())
		b.clock.Advance(6 * time.Minute)
		require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
			_, err := staff.DropExpired(t.Context(), q, b.clock.Now(), 10)
			return err
		}))
	}
}

// A key that a provider withdraws ends within the time for which keys are used.
func TestWithdrawnKeyEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.signedIn()
	b.fake.withdrawn.Store(true)
	b.clock.Advance(5*time.Minute + time.Second)
	err := b.service.Logout(t.Context(), b.env.TenantID, "corp", b.fake.logoutToken(nil), "req_1")
	require.Equal(t, sso.ReasonSignature, sso.ReasonOf(err), "%v", err)
	_, err = b.signIn()
	require.Equal(t, sso.ReasonSignature, sso.ReasonOf(err), "%v", err)
}

// What says that an address is verified counts for the address that it came with.
func TestAddressIsVerifiedByWhatItCameWith(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token, userinfo object
		want            int
	}{
		"both of userinfo":                    {object{}, object{"email": "ann@bank.example", "email_verified": true}, 1},
		"both of the token":                   {object{"email": "ann@bank.example", "email_verified": true}, object{}, 1},
		"verified by the token only":          {object{"email_verified": true}, object{"email": "eve@bank.example", "email_verified": false}, 0},
		"verified by the token, else unknown": {object{"email_verified": true}, object{"email": "eve@bank.example"}, 0},
		"verified by userinfo only":           {object{"email": "eve@bank.example"}, object{"email": "ann@bank.example", "email_verified": true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.fake.groups = nil
			b.fake.change = func(claims object) {
				for k, v := range c.token {
					claims[k] = v
				}
			}
			b.fake.userinfo = object{"sub": "subject-1", "groups": []string{"leads"}}
			for k, v := range c.userinfo {
				b.fake.userinfo[k] = v
			}
			b.signedIn()
			var n int
			require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select count(*) from person_addresses where confirmed_at is not null").Scan(&n))
			require.Equal(t, c.want, n)
		})
	}
}
