package tenancy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

func service(t *testing.T) (*tenancy.Service, *pg.Store) {
	t.Helper()
	st := storetest.New(t)
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	c := clock.NewFake(storetest.Epoch)
	return tenancy.New(st, signing.New(st, keys, c, "https://countersign.example"), c, nil), st
}

func TestCreateMakesTwoEnvironmentsWithSigningKeys(t *testing.T) {
	t.Parallel()
	svc, st := service(t)
	made, err := svc.Create(t.Context(), tenancy.Spec{
		Name: "Example Bank", RPID: "bank.example", Origins: []string{"https://bank.example", "https://app.bank.example"},
	}, "cli:tenant create")
	require.NoError(t, err)
	require.Equal(t, models.Sandbox, made.Sandbox.Kind)
	require.Equal(t, models.Live, made.Live.Kind)
	for _, env := range []models.Environment{made.Sandbox, made.Live} {
		keys, err := signing.ListSigningKeys(t.Context(), st.Q, storetest.Scope(env))
		require.NoError(t, err)
		require.Len(t, keys, 2, "the active key and the next one, which is published in advance")
	}
}

func TestCreateRejectsInvalidSpecs(t *testing.T) {
	t.Parallel()
	svc, st := service(t)
	good := tenancy.Spec{Name: "n", RPID: "bank.example", Origins: []string{"https://bank.example"}}
	for name, c := range map[string]struct {
		change func(*tenancy.Spec)
		says   string
	}{
		"no name":           {func(s *tenancy.Spec) { s.Name = "" }, "1 to 120 characters"},
		"long name":         {func(s *tenancy.Spec) { s.Name = strings.Repeat("é", 121) }, "not 121"},
		"no RP ID":          {func(s *tenancy.Spec) { s.RPID = "" }, "is not a host name"},
		"RP ID is a suffix": {func(s *tenancy.Spec) { s.RPID, s.Origins = "co.uk", []string{"https://bank.co.uk"} }, "is a public suffix"},
		"RP ID ends in dot": {func(s *tenancy.Spec) { s.RPID = "bank.example." }, "is not a host name"},
		"RP ID is IPv4":     {func(s *tenancy.Spec) { s.RPID, s.Origins = "1.2.3.4", []string{"https://1.2.3.4"} }, "is not a host name"},
		"RP ID with hyphen": {func(s *tenancy.Spec) { s.RPID = "-bank.example" }, "is not a host name"},
		"long label":        {func(s *tenancy.Spec) { s.RPID = strings.Repeat("a", 70) + ".example" }, "is not a host name"},
		"port 65536":        {func(s *tenancy.Spec) { s.Origins = []string{"https://bank.example:65536"} }, "scheme and a host"},
		"RP ID is a URL":    {func(s *tenancy.Spec) { s.RPID = "https://bank.example" }, "is not a host name"},
		"no origin":         {func(s *tenancy.Spec) { s.Origins = nil }, "at least one origin"},
		"a page":            {func(s *tenancy.Spec) { s.Origins = []string{"https://bank.example/login"} }, "scheme and a host"},
		"foreign":           {func(s *tenancy.Spec) { s.Origins = []string{"https://evilbank.example"} }, "not at the RP ID"},
		"plain http":        {func(s *tenancy.Spec) { s.Origins = []string{"http://bank.example"} }, "not https"},
		"local": {func(s *tenancy.Spec) {
			s.RPID, s.Origins = "localhost", []string{"http://localhost:8080"}
		}, "is local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := good
			c.change(&spec)
			_, err := svc.Create(t.Context(), spec, "cli:tenant create")
			require.ErrorContains(t, err, c.says)
			tenants, err := tenancy.ListTenants(t.Context(), st.Q)
			require.NoError(t, err)
			require.Empty(t, tenants)
		})
	}
}
