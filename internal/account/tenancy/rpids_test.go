package tenancy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

func TestCreateStoresCanonicalNames(t *testing.T) {
	t.Parallel()
	svc, _ := service(t)
	made, err := svc.Create(t.Context(), tenancy.Spec{
		Name: "Bücher", RPID: "Bücher.example", Origins: []string{"https://BÜCHER.example:443", "https://pay.bücher.example:8443"},
	}, "cli:test")
	require.NoError(t, err)
	require.Equal(t, "xn--bcher-kva.example", made.Live.RPID)
	require.Equal(t, []string{"https://xn--bcher-kva.example", "https://pay.xn--bcher-kva.example:8443"}, []string(made.Live.RPOrigins))
}

func TestAnRPIDBelongsToOneTenant(t *testing.T) {
	t.Parallel()
	svc, st := service(t)
	alder, err := svc.Create(t.Context(), tenancy.Spec{Name: "Alder", RPID: "alder.example", Origins: []string{"https://alder.example"}}, "cli:test")
	require.NoError(t, err)
	_, err = svc.Create(t.Context(), tenancy.Spec{Name: "Birch", RPID: "ALDER.example", Origins: []string{"https://alder.example"}}, "cli:test")
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	birch, err := svc.Create(t.Context(), tenancy.Spec{Name: "Birch", RPID: "birch.example", Origins: []string{"https://birch.example"}}, "cli:test")
	require.NoError(t, err)

	claim := func(made tenancy.Made, related string, ids ...string) error {
		_, err := svc.UpdateSettings(t.Context(), storetest.Scope(made.Live), tenancy.Settings{
			"passkeys": tenancy.Passkeys{RPIDs: ids, RelatedOrigins: []string{related}},
		}, "api:test", "")
		return err
	}
	require.NoError(t, claim(alder, "https://alder.test"))
	for _, id := range []string{"alder.example", "pay.alder.example", "unknown.example", "Alder.Example"} {
		require.True(t, problem.Is(claim(birch, "https://evil.example", id), problem.Conflict), id)
	}
	origins, err := tenancy.RelatedOrigins(t.Context(), st.Q, "alder.example")
	require.NoError(t, err)
	require.Equal(t, []string{"https://alder.test"}, origins)

	_, err = svc.UpdateRPIDs(t.Context(), birch.Tenant.ID, tenancy.RPIDs{Give: []string{"alder.example"}}, "cli:test")
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	has, err := svc.UpdateRPIDs(t.Context(), birch.Tenant.ID, tenancy.RPIDs{Give: []string{"Birch.TEST", "localhost"}}, "cli:test")
	require.NoError(t, err)
	require.Equal(t, []string{"birch.example", "birch.test"}, has)
	require.NoError(t, claim(birch, "https://birch.example.org", "birch.test"))
	_, err = svc.UpdateRPIDs(t.Context(), birch.Tenant.ID, tenancy.RPIDs{Take: []string{"birch.test"}}, "cli:test")
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	require.NoError(t, claim(birch, "https://birch.example.org", []string{}...))
	require.True(t, problem.Is(func() error {
		_, err := svc.UpdateRPIDs(t.Context(), birch.Tenant.ID, tenancy.RPIDs{Take: []string{"birch.example"}}, "cli:test")
		return err
	}(), problem.Conflict), "the environments' own RP ID stays")
}
