package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

func TestTenantReviewsShowsAndSetsSelfReview(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	created := c.ok("tenant", "create", "--background", "prior", "--name", "Bank", "--rp-id", "bank.example", "--origin", "https://bank.example")
	require.Regexp(t, `(?m)^live\s+self-review of holds is barred$`, created, "live bars it by default")
	require.Regexp(t, `(?m)^sandbox\s+self-review of holds is allowed unless a policy bars it; countersign tenant reviews --bar-self-review`, created)
	live := regexp.MustCompile(`live\s+(env_\S+)`).FindStringSubmatch(created)[1]
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live), "is barred")
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live, "--bar-self-review=false"), "is allowed")
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live, "--bar-self-review"), "self-review of holds is barred")
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live), "is barred")

	permitted := c.ok("tenant", "create", "--background", "prior", "--name", "Small", "--rp-id", "c.example", "--origin", "https://c.example", "--bar-self-review=false")
	require.Regexp(t, `(?m)^live\s+self-review of holds is allowed`, permitted)
	sandbox := regexp.MustCompile(`sandbox\s+(env_\S+)`).FindStringSubmatch(permitted)[1]
	require.Contains(t, c.ok("tenant", "reviews", "--environment", sandbox), "is allowed")

	c.fails("choose own, shared or prior", "tenant", "create", "--name", "Bank", "--rp-id", "d.example", "--origin", "https://d.example")
	c.fails("U+000D at position 1", "tenant", "create", "--background", "prior", "--name", "A\r\nB", "--rp-id", "d.example", "--origin", "https://d.example")
	c.fails("name must not contain control characters", "credential", "create", "--environment", live, "--scope", "server", "--name", "A\nB")
	c.fails("U+202E at position 1", "person", "invite", "--environment", live, "--role", "reviewer", "--name", "A\u202eB")
}

func TestTenantPagesShowsAndSetsHostedPages(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	made := c.ok("tenant", "create", "--background", "prior", "--name", "Example Bank", "--rp-id", "bank.example", "--origin", "https://bank.example,https://approve.bank.example")
	env := environmentID.FindString(made)
	require.Equal(t, "pages are served at the service's base URL\nthey may redirect to https://bank.example, https://approve.bank.example\n"+
		"they may be embedded by no origin\n", c.ok("tenant", "pages", "--environment", env))
	c.ok("tenant", "pages", "--environment", env, "--origin", "https://approve.bank.example", "--frame-ancestor", "https://intranet.example")
	c.ok("tenant", "pages", "--environment", env, "--return-origin", "https://shop.example")
	require.Equal(t, "pages are served at https://approve.bank.example\nthey may redirect to https://bank.example, https://approve.bank.example, "+
		"https://shop.example\nthey may be embedded by https://intranet.example\n", c.ok("tenant", "pages", "--environment", env))
	require.Contains(t, c.ok("tenant", "pages", "--environment", env, "--frame-ancestor", ""), "embedded by no origin")
	c.fails("passkeys could not be used there", "tenant", "pages", "--environment", env, "--origin", "https://elsewhere.example")
	c.fails("is not https", "tenant", "pages", "--environment", env, "--return-origin", "http://shop.example")
}

func TestTenantBrandShowsAndSetsTheLook(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	env := environmentID.FindString(c.ok("tenant", "create", "--background", "prior", "--name", "Example Bank", "--rp-id", "bank.example", "--origin", "https://bank.example"))
	require.Equal(t, "pages show the name Example Bank, no logo\nthe accent colour is the service's own\nthe default language is en\n",
		c.ok("tenant", "brand", "--environment", env))
	require.Contains(t, c.ok("tenant", "brand", "--environment", env, "--name", "Alder", "--accent", "#6b2fb3"), "the name Alder, no logo\nthe accent colour is #6b2fb3")
	require.Contains(t, c.ok("tenant", "brand", "--environment", env, "--language", "de"), "#6b2fb3\nthe default language is de")
	c.fails("has a contrast of 1.36:1", "tenant", "brand", "--environment", env, "--accent", "#ffcc00")
	c.fails("brand.logo is not a PNG", "tenant", "brand", "--environment", env, "--logo", "tenant.go")
}

func TestTenantApprovalsRequiresSecondApprover(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	created := c.ok("tenant", "create", "--background", "prior", "--name", "Bank", "--rp-id", "bank.example", "--origin", "https://bank.example")
	require.Contains(t, created, "changes need no second approver", "the choice not made is printed")
	require.NotContains(t, created, "second admin key")
	live := regexp.MustCompile(`live\s+(env_\S+)`).FindStringSubmatch(created)[1]
	require.Contains(t, c.ok("tenant", "approvals", "--environment", live, "--second-approver", "--change-life", "2h"), "wait for a second approver, 2h0m0s at most")
	waiting := c.ok("tenant", "approvals", "--environment", live, "--second-approver=false")
	require.Regexp(t, `change chg_\S+ waits for a second approver until \S+: approve it in the console, or with POST /api/v1/changes/chg_\S+/approve`, waiting)
	require.Contains(t, waiting, "changes wait for a second approver", "it is still on")
	require.Equal(t, waiting, c.ok("tenant", "approvals", "--environment", live, "--second-approver=false"), "repeated it is the same change")
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live, "--bar-self-review=false"), "is barred", "other settings wait too")
	c.fails("--change-life is 1m0s: it must be between 5m0s and 720h0m0s", "tenant", "approvals", "--environment", live, "--change-life", "1m")

	careful := c.ok("tenant", "create", "--background", "prior", "--name", "Careful", "--rp-id", "c.example", "--origin", "https://c.example", "--second-approver")
	require.Regexp(t, `(?m)^live\s+env_\S+  second admin key, shown this once: sk_live_`, careful)
	require.Regexp(t, `(?m)^live\s+changes wait for a second approver, 24h0m0s at most$`, careful)
	sandbox := regexp.MustCompile(`sandbox\s+(env_\S+)`).FindStringSubmatch(careful)[1]
	require.Contains(t, c.ok("tenant", "approvals", "--environment", sandbox), "need no second approver", "create requires it in live only")
}

func TestTenantSettingsShowsAndSetsEveryDeclaredSetting(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	env := environmentID.FindString(c.ok("tenant", "create", "--background", "prior", "--name", "Bank", "--rp-id", "bank.example", "--origin", "https://bank.example"))
	require.Regexp(t, `(?m)^key_expiry_required +false$`, c.ok("tenant", "settings", "--environment", env))
	shown := c.ok("tenant", "settings", "--environment", env, "key_expiry_required=true", "hold_ttl_seconds=3600", "rp_name=5",
		"return_origins=https://shop.example,https://other.example")
	for _, line := range []string{`key_expiry_required +true`, `hold_ttl_seconds +3600`, `rp_name +"5"`, `return_origins +\["https://shop.example","https://other.example"\]`} {
		require.Regexp(t, `(?m)^`+line+`$`, shown)
	}
	c.fails("must be between 60 and 2592000", "tenant", "settings", "--environment", env, "hold_ttl_seconds=1")
	c.fails("wrong type", "tenant", "settings", "--environment", env, "bar_self_review=1")
	c.fails("not a value of this setting", "tenant", "settings", "--environment", env, "bar_self_review=yes")
	c.fails("without arguments", "tenant", "settings", "--environment", env, "bar_self_reviews=true")
}
