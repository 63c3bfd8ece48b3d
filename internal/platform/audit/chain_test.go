package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
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
