package integration_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// An admin key cannot create or rotate a key with a higher quota than the operator allows.
func TestQuotaCeilingIsSetByTheOperator(t *testing.T) {
	t.Parallel()
	both := newTenant(t)
	for limit, w := range map[int]world{1000: both.Sandbox, 10_000: both.Live} {
		create := func(rate int) response {
			return w.Admin.post(t, "/api/v1/credentials", object{"scope": "admin", "name": "more", "rate_limit": rate})
		}
		for _, rate := range []int{limit + 1, 1_000_000_000} {
			a := create(rate)
			require.Equal(t, []string{`["body","rate_limit"] rate_limit_ceiling`}, a.faults())
			require.Contains(t, string(a.body), "operator")
		}
		made := create(limit).is(201)
		rotated := w.Admin.post(t, "/api/v1/credentials/"+made.string("id")+"/rotate", nil).is(200)
		for _, key := range []string{made.string("key"), rotated.string("key")} {
			header := caller{base: shared.baseURL, key: key}.get(t, "/api/v1/credential").is(200).header
			require.Equal(t, made.value("rate_limit"), rotated.value("rate_limit"))
			require.Contains(t, []string{"1000", "10000"}, header.Get("X-RateLimit-Limit"))
		}
	}

	live := both.Live
	ceiling := 50_000
	_, err := shared.Tenancy.UpdateRateLimitCeiling(t.Context(), pg.Scope{Tenant: live.TenantID, Environment: live.ID}, &ceiling, "cli:test")
	require.NoError(t, err)
	raised := live.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "more", "rate_limit": ceiling}).is(201)
	require.Equal(t, "50000", caller{base: shared.baseURL, key: raised.string("key")}.get(t, "/api/v1/credential").is(200).header.Get("X-RateLimit-Limit"))
	require.NotEmpty(t, live.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "more", "rate_limit": ceiling + 1}).faults())
}

func TestQuotaDefaults(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	for limit, w := range map[string]world{"1000": made.Sandbox, "10000": made.Live} {
		key := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "plain"}).is(201).string("key")
		require.Equal(t, limit, caller{base: shared.baseURL, key: key}.get(t, "/api/v1/credential").is(200).header.Get("X-RateLimit-Limit"))
	}
}

// Quotas are per credential. Forwarded client addresses do not change them.
func TestQuotaIgnoresForwardedAddresses(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	limit := 3
	limited := caller{base: shared.baseURL, key: w.issue(t, models.ScopeServer, &limit)}
	for n := range limit {
		limited.with("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", n)).get(t, "/api/v1/credential").is(200)
	}
	limited.with("X-Forwarded-For", "198.51.100.9").with("X-Real-IP", "198.51.100.9").get(t, "/api/v1/credential").problem(429, "rate_limited")
}

func TestQuotaIsReportedAndEnforced(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	limit := 5
	c := caller{base: shared.baseURL, key: w.issue(t, models.ScopeServer, &limit)}
	for range limit {
		a := c.get(t, "/api/v1/credential").is(200)
		for _, name := range []string{"RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			require.NotEmpty(t, a.header.Get(name), name)
		}
	}
	refused := c.get(t, "/api/v1/credential").problem(http.StatusTooManyRequests, "rate_limited")
	after, err := strconv.Atoi(refused.header.Get("Retry-After"))
	require.NoError(t, err)
	require.InDelta(t, 3600/limit, after, 60, "when the next request has refilled, not when an hour ends")
	require.Equal(t, refused.header.Get("Retry-After"), refused.header.Get("X-RateLimit-Reset"))
	w.Server.get(t, "/api/v1/credential").is(200)
}

// A burst on several replicas, with the old and the new key of a credential during its rotation, counts against one quota.
func TestQuotaIsSharedByReplicasAndKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const limit = 40
	made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "burst", "rate_limit": limit}).is(201)
	rotated := w.Admin.post(t, "/api/v1/credentials/"+made.string("id")+"/rotate", object{"overlap_seconds": 3600}).is(200)
	bases := []string{shared.baseURL, replica(t, wiring.Settings{Log: shared.log}), replica(t, wiring.Settings{Log: shared.log})}
	keys := []string{made.string("key"), rotated.string("key")}
	statuses, start := make([]int, 6*limit), time.Now()
	concurrently(len(statuses), func(i int) {
		a, err := caller{base: bases[i%len(bases)], key: keys[i/len(bases)%len(keys)]}.send("GET", "/api/v1/credential", nil)
		if err == nil {
			statuses[i] = a.status
		}
	})
	passed := 0
	for _, status := range statuses {
		require.Contains(t, []int{200, 429}, status)
		if status == 200 {
			passed++
		}
	}
	refilled := int(time.Since(start) * limit / time.Hour)
	require.LessOrEqual(t, passed, limit+1+refilled)
	require.Greater(t, passed, limit/2, "replicas reserve only a small part of the quota")
}

// One key uses up no other key's share, and revocation is refused by no quota.
func TestOneKeyLeavesTheOthersTheirShares(t *testing.T) {
	t.Parallel()
	env := newTenant(t).Sandbox.Environment
	together := 60
	_, err := shared.Tenancy.UpdateRateLimit(t.Context(), pg.Scope{Tenant: env.TenantID, Environment: env.ID}, &together, "cli:test")
	require.NoError(t, err)
	w := newWorld(t, env)
	subject := w.Server.post(t, "/api/v1/subjects", object{}).is(201).string("id")
	noisy := caller{base: shared.baseURL, key: w.issue(t, models.ScopeServer, nil)}
	passed := 0
	for range 2 * together {
		a, err := noisy.send("POST", "/api/v1/verify", object{"proof": "x", "audience": audience})
		require.NoError(t, err)
		if a.status != http.StatusTooManyRequests {
			passed++
		}
	}
	require.Less(t, passed, together, "the rest is the share of others")
	require.Equal(t, http.StatusTooManyRequests, noisy.get(t, "/api/v1/credential").status)
	for _, c := range []caller{w.Server, w.Admin} {
		for range 3 {
			require.Equal(t, 200, c.get(t, "/api/v1/credential").status)
		}
	}
	for range together {
		_, err := w.Admin.send("GET", "/api/v1/credential", nil)
		require.NoError(t, err)
	}
	require.Equal(t, http.StatusTooManyRequests, w.Admin.get(t, "/api/v1/credential").status)
	require.NotEqual(t, http.StatusTooManyRequests, w.Admin.do(t, http.MethodDelete, "/api/v1/credentials/"+ids.New(ids.Credential), nil).status)
	w.Admin.post(t, "/api/v1/subjects/"+subject+"/revoke", object{"reason": "a leaked key"}).is(200)
}

// More keys are no way around the quota that all servers of an environment share, and browsers never use it up.
func TestQuotaIsSharedByTheKeysOfAnEnvironment(t *testing.T) {
	t.Parallel()
	env := newTenant(t).Sandbox.Environment
	const limit, clients = 10, 200
	together := limit
	_, err := shared.Tenancy.UpdateRateLimit(t.Context(), pg.Scope{Tenant: env.TenantID, Environment: env.ID}, &together, "cli:test")
	require.NoError(t, err)
	w := newWorld(t, env)
	subject := w.Server.post(t, "/api/v1/subjects", object{}).is(201).string("id")
	session := w.open(t, subject)
	var pages []caller
	for range 3 {
		pages = append(pages, w.page(t, subject, nil))
	}
	status := func(key string) response {
		return caller{base: shared.baseURL, key: key}.get(t, "/api/v1/credential")
	}
	refused := 0
	for i := range clients + 50 {
		a, err := pages[i%len(pages)].send("POST", "/api/v1/sessions/"+session+"/evidence", object{})
		require.NoError(t, err)
		if a.status == http.StatusTooManyRequests {
			refused++
		}
	}
	require.NotZero(t, refused, "the tokens of an environment share a quota")
	require.LessOrEqual(t, refused, 50)
	require.Equal(t, http.StatusTooManyRequests, status(w.Publishable.key).status, "publishable keys are in browsers too")

	for range limit - 5 { // five were used above
		require.Equal(t, 200, status(w.issue(t, models.ScopeServer, nil)).status, "browsers take nothing from the servers")
	}
	a := status(w.issue(t, models.ScopeAdmin, nil)).problem(429, "rate_limited")
	require.Contains(t, string(a.body), "share")
	require.Equal(t, strconv.Itoa(limit), a.header.Get("X-RateLimit-Limit"))
	require.Equal(t, `"test-servers";q=10;w=3600`, a.header.Get("RateLimit-Policy"))
	require.Equal(t, "0", a.header.Get("X-RateLimit-Remaining"))

	_, err = shared.Tenancy.UpdateRateLimit(t.Context(), pg.Scope{Tenant: env.TenantID, Environment: env.ID}, nil, "cli:test")
	require.NoError(t, err)
	shared.Identity.Forget("")
	eventually(t, func() bool { return status(w.Admin.key).status == 200 }, "the new quota applies")
	found := map[string]int{}
	for _, e := range w.Admin.get(t, "/api/v1/activity?type=quota.nearly_used").is(200).list() {
		data, ok := e["data"].(object)
		require.True(t, ok)
		found[fmt.Sprint(data["quota"])]++
	}
	require.Equal(t, map[string]int{"servers": 1, "clients": 1}, found)
}
