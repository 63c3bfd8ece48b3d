package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

// An admin key gives no key of its own more than the operator allows, neither a new one nor by rotating.
func TestQuotaCeilingIsSetByTheOperator(t *testing.T) {
	t.Parallel()
	both := newTenant(t)
	for limit, w := range map[int]world{1000: both.Sandbox, 10_000: both.Live} {
		create := func(rate int) answer {
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
	_, err := shared.Tenancy.UpdateRateLimitCeiling(t.Context(), store.Scope{Tenant: live.TenantID, Environment: live.ID}, &ceiling, "cli:test")
	require.NoError(t, err)
	raised := live.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "more", "rate_limit": ceiling}).is(201)
	require.Equal(t, "50000", caller{base: shared.baseURL, key: raised.string("key")}.get(t, "/api/v1/credential").is(200).header.Get("X-RateLimit-Limit"))
	require.NotEmpty(t, live.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "more", "rate_limit": ceiling + 1}).faults())
}
