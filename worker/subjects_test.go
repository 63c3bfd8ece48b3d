package worker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// erasureTimeout bounds an erasure, including its grace period of 30 s.
const erasureTimeout = 90 * time.Second

// subjects runs a worker that also handles recoveries and erasures.
func (b *bundle) subjects(t *testing.T) (*subject.Service, *recovery.Service) {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	erasures, recoveries := subject.New(b.Store, keys, nil, clock.System()), recovery.New(b.Store, clock.System(), backgrounds.Counter{})
	b.runProcess(func(d *worker.Deps) {
		d.Services.Subjects = worker.Subjects{Recoveries: recoveries, Erasures: erasures, Workflows: b.runs}
		d.Relay.Lanes = append(d.Relay.Lanes, outbox.Lane{Name: "subjects", Handlers: worker.SubjectTopics(b.runs, recoveries, erasures)})
	})
	return erasures, recoveries
}

// requireErased waits until an erasure is completed.
func (b *bundle) requireErased(t *testing.T, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return b.Count("select count(*) from erasures where id = $1 and status = 'completed'", id) == 1
	}, erasureTimeout, 100*time.Millisecond)
}

// requireForgotten requires that a workflow has ended. The server removes its history within about a minute.
func (b *bundle) requireForgotten(t *testing.T, id string) {
	t.Helper()
	d, err := b.temporal.DescribeWorkflow(t.Context(), id, "")
	var missing *serviceerror.NotFound
	if !errors.As(err, &missing) {
		require.NoError(t, err)
		require.NotEqual(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, d.Status, id)
	}
}

// An erasure removes the rows and the histories of an open challenge, a hold and a recovery.
func TestErasureRemovesRowsAndHistories(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the erasure's grace period of 30 s")
	}
	t.Parallel()
	b := setup(t)
	erasures, recoveries := b.subjects(t)
	p := b.Principal(fixture.Asker)
	h := b.Hold(time.Hour, 1)
	v, err := recoveries.Begin(t.Context(), p, b.Subject.ExternalID, recovery.Begin{Anchor: recovery.AnchorNone})
	require.NoError(t, err)
	b.Subject, err = subjectrow.GetByUID(t.Context(), b.Store.Q, b.Scope, b.Subject.UID)
	require.NoError(t, err)
	c := b.Challenge(time.Hour, "sandbox_confirm")
	run, _, err := b.challenges.WorkflowInput(t.Context(), c.EnvironmentID, c.ID)
	require.NoError(t, err)
	require.NoError(t, b.runs.StartChallenge(t.Context(), run))
	held, _, err := b.holds.WorkflowInput(t.Context(), h.EnvironmentID, h.AuthorizationID)
	require.NoError(t, err)
	require.NoError(t, b.runs.StartHold(t.Context(), held))
	b.eventually(t, 1, "select count(*) from recoveries where status = 'cooling_down'")

	r, err := erasures.Erase(t.Context(), p, b.Subject.ExternalID)
	require.NoError(t, err)
	b.requireErased(t, r.Erasure)
	for _, table := range []string{"authorizations", "challenges", "holds", "recoveries"} {
		require.Zero(t, b.Count("select count(*) from "+table), table)
	}
	require.Zero(t, b.Count("select count(*) from subjects where uid = $1", b.Subject.UID))
	require.Equal(t, 1, b.Events("subject.erased"))
	for _, id := range []string{workflows.ChallengeID(c.ID), workflows.HoldID(h.AuthorizationID), workflows.RecoveryID(v.ID)} {
		b.requireForgotten(t, id)
	}
}

// A sandbox recovery runs from its start to the enrollment that completes it.
func TestRecoveryWorkflowCompletes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, recoveries := b.subjects(t)
	ref := "kyc-case-1"
	v, err := recoveries.Begin(t.Context(), b.Principal(fixture.Asker), b.Subject.ExternalID,
		recovery.Begin{Anchor: recovery.AnchorIDP, EvidenceRef: &ref})
	require.NoError(t, err)
	b.eventually(t, 1, "select count(*) from recoveries where status = 'ready'")
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error {
		return recovery.CompleteByEnrollment(t.Context(), q, b.Subject, clock.System().Now())
	}))
	var out workflows.RecoveryResult
	require.NoError(t, b.temporal.GetWorkflow(t.Context(), workflows.RecoveryID(v.ID), "").Get(t.Context(), &out))
	require.Equal(t, workflows.RecoveryResult{Status: "completed"}, out)
	require.Equal(t, 1, b.Events("recovery.completed"))
}
