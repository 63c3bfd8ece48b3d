package authorization_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/transittest"
	"github.com/countersign-dev/countersign/models"
)

// Only what needs a proof waits for the backend of the signing keys. It is refused within a second and leaves no trace, so that the
// same request can be sent again.
func TestDecisionsWithoutTheBackendOfSigningKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requires policy.Requirements
		mode     models.ActionMode
		refused  bool
	}{
		"enforced allow": {allowing, models.ModeEnforce, true},
		"shadow allow":   {allowing, models.ModeShadow, false},
		"deny":           {denying, models.ModeEnforce, false},
		"challenge":      {challenging, models.ModeEnforce, false},
		"hold":           {holding, models.ModeEnforce, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := transittest.Start(t)
			b := setupOn(t, storetest.New(t), c.requires, openTransit(t, server))
			r := b.request()
			b.Exec("update actions set mode = $1", string(c.mode))
			server.Sealed.Store(true)
			start := time.Now()
			_, err := b.Authorize(t.Context(), b.principal, r, b.clock.Now())
			require.Less(t, time.Since(start), time.Second)
			if !c.refused {
				require.NoError(t, err)
				return
			}
			require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
			server.Sealed.Store(false)
			require.Eventually(t, func() bool {
				_, err := b.Authorize(t.Context(), b.principal, r, b.clock.Now())
				return err == nil
			}, 10*time.Second, 50*time.Millisecond)
		})
	}
}

func openTransit(t *testing.T, server *transittest.Server) keys.Signer {
	t.Helper()
	u, err := url.Parse(server.URI)
	require.NoError(t, err)
	s, err := transit.Open(u)
	require.NoError(t, err)
	return keys.NewGuard(s)
}
