package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// The recipe is public (docs/audit.md): a change of it breaks every exported chain. The
// value was computed apart from this code, from the recipe.
func TestHashVector(t *testing.T) {
	t.Parallel()
	action := "payment.release"
	e := models.Event{ID: "evt_01jqx3k5v8e2sbyk0c4m7t9wzd", EnvironmentID: "env_1", Type: "authorization.decided",
		At: time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC), Actor: "credential:crd_1", Action: &action, Digest: make([]byte, 32)}
	require.Equal(t, "sha256:0d5a674a5ec6fca805ce229cb5945a1294dd709e889dcbc72f81946e0786e1f0", audit.Text(audit.Hash(audit.Genesis("env_1"), 1, e)))
}

func TestHashTellsMissingFromEmptyAndNeighboursApart(t *testing.T) {
	t.Parallel()
	empty, a, b := "", "a", "b"
	base := models.Event{ID: "evt_1", EnvironmentID: "env_1", Type: "t", Actor: "x"}
	seen := map[string]string{}
	for name, e := range map[string]func(*models.Event){
		"base":           func(*models.Event) {},
		"empty action":   func(e *models.Event) { e.Action = &empty },
		"action a":       func(e *models.Event) { e.Action = &a },
		"authorization":  func(e *models.Event) { e.AuthorizationID = &a },
		"decision a":     func(e *models.Event) { e.Decision = &a },
		"workflow a":     func(e *models.Event) { e.WorkflowID = &a },
		"action b":       func(e *models.Event) { e.Action = &b },
		"type and actor": func(e *models.Event) { e.Type, e.Actor = "tx", "" },
	} {
		c := base
		e(&c)
		h := audit.Text(audit.Hash(nil, 1, c))
		require.Empty(t, seen[h], "%s shares its hash", name)
		seen[h] = name
	}
}

// A sealer that found the log of a tenant before its deletion leaves nothing behind, whose key a restored tenant would find taken.
func TestNothingIsSealedOfADeletedTenant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(1)
	sealed := make(chan error, 1)
	require.NoError(t, b.st.Write(t.Context(), func(q *pg.Q) error {
		run := func(statements ...string) {
			for _, statement := range statements {
				_, err := q.Exec(t.Context(), statement)
				require.NoError(t, err)
			}
		}
		run("select from tenants for update", "delete from events where environment_id = 'env_1'", "delete from audit_heads where environment_id = 'env_1'")
		go func() {
			_, err := b.sealer.SealNow(t.Context(), b.scope.Environment)
			sealed <- err
		}()
		require.Eventually(t, func() bool { return storetest.Waiting(t, b.st) > 0 }, 30*time.Second, 10*time.Millisecond)
		run("delete from environments", "delete from tenants")
		return nil
	}))
	require.NoError(t, <-sealed)
	var heads int
	require.NoError(t, b.st.Pool().QueryRow(t.Context(), "select count(*) from audit_heads").Scan(&heads))
	require.Zero(t, heads)
}
