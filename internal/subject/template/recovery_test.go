package template_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// Templates do not adapt to a session that began before a recovery was ready, however well it fits.
func TestAdaptSkipsSessionsFromBeforeARecovery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(7)
	b.enroll(t, who)
	b.clock.Advance(24 * time.Hour)
	began := b.clock.Now()
	id := b.frames(t, "score", typed(who, 6))
	b.end(t, id)
	testenv.Exec(t, b.store, `insert into recoveries (id, tenant_id, environment_id, subject_uid, status, anchor, created_at,
		ready_at, expires_at, completed_at) values ($1, $2, $3, $4, 'completed', 'none', $5, $6, $6, $6)`,
		ids.New(ids.Recovery), b.principal.TenantID, b.principal.EnvironmentID, b.subject.UID, began.Add(-time.Hour), began.Add(time.Minute))
	require.Equal(t, template.AdaptationResult{Status: template.Unchanged, Reason: template.ReasonRecovery}, b.adapt(t, id))
	require.Len(t, b.versions(t), 1)
	b.confirmed(t, who) // a session from after it is taken in
}
