package backgrounds_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// candidate is the embedded typing background under another name, with something of its own.
func candidate(t *testing.T, version string, drift float64) []byte {
	t.Helper()
	body, err := scoring.Default().Background(features.Keystroke).Marshal()
	require.NoError(t, err)
	bg, err := scoring.ParseBackground(body)
	require.NoError(t, err)
	bg.Version, bg.Drift = version, drift
	out, err := bg.Marshal()
	require.NoError(t, err)
	return out
}

// process is one replica of the service.
type process struct {
	*backgrounds.Loader
	assessor *assurance.Assessor
}

// replica starts a replica and returns it with its log.
func replica(t *testing.T, st *pg.Store) (*process, *bytes.Buffer) {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	var log bytes.Buffer
	p := &process{assessor: assurance.New(scoring.Default(), keys)}
	p.Loader = backgrounds.NewLoader(st, p.assessor, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, p.Load(t.Context()))
	return p, &log
}

func order(body []byte) backgrounds.Order {
	return backgrounds.Order{Body: body, Comparison: map[string]any{"eer": .02}, By: "cli:background activate", At: storetest.Epoch}
}

func TestEveryReplicaFollowsAnActivation(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	env := storetest.Environment(t, st, models.Live)
	embedded := scoring.Default().Version()
	one, _ := replica(t, st)
	require.Equal(t, embedded, one.assessor.Model().Version(), "the embedded backgrounds are active if there are no others")

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); one.Follow(ctx) }()
	defer func() { cancel(); <-done }()

	_, err := backgrounds.Activate(t.Context(), st, order(candidate(t, "local-1", .1)))
	require.NoError(t, err)
	pointer := scoring.Default().Background(features.Pointer).Version
	require.Eventually(t, func() bool { return one.assessor.Model().Version() == "local-1+"+pointer }, 10*time.Second, 10*time.Millisecond)
	two, _ := replica(t, st)
	require.Equal(t, "local-1+"+pointer, two.assessor.Model().Version(), "one that starts later has it, too")
	require.Equal(t, []string{scoring.Default().Background(features.Keystroke).Version}, two.assessor.Earlier(features.Keystroke),
		"templates of the previous background are migrated")

	_, err = backgrounds.Activate(t.Context(), st, order(candidate(t, "local-2", .2)))
	require.NoError(t, err)
	require.NoError(t, backgrounds.Retire(t.Context(), st, features.Keystroke, "cli:background retire", storetest.Epoch.Add(time.Hour)))
	require.Eventually(t, func() bool { return one.assessor.Model().Version() == embedded }, 10*time.Second, 10*time.Millisecond)
	_, err = backgrounds.Activate(t.Context(), st, order(candidate(t, "local-1", .1)))
	require.NoError(t, err, "a background may come back as it was")

	var events int
	require.NoError(t, st.Pool().QueryRow(t.Context(), "select count(*) from events where type = 'background.activated' and environment_id = $1", env.ID).Scan(&events))
	require.Equal(t, 4, events, "the log of every environment records since when a different model is active")
	rows, err := backgrounds.All(t.Context(), st.Q)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.JSONEq(t, `{"eer":0.02}`, string(rows[0].Comparison), "the comparison before the activation is kept with it")
}

func TestActivateRefuses(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := backgrounds.Activate(t.Context(), st, order([]byte("{}")))
	require.ErrorIs(t, err, scoring.ErrBackground)
	without := order(candidate(t, "local-1", .1))
	without.Comparison = nil
	_, err = backgrounds.Activate(t.Context(), st, without)
	require.ErrorIs(t, err, backgrounds.ErrNoComparison)
	_, err = backgrounds.Activate(t.Context(), st, order(candidate(t, scoring.Default().Background(features.Keystroke).Version, .3)))
	require.ErrorIs(t, err, backgrounds.ErrVersionTaken, "another under the embedded one's name")
	_, err = backgrounds.Activate(t.Context(), st, order(candidate(t, "local-1", .1)))
	require.NoError(t, err)
	_, err = backgrounds.Activate(t.Context(), st, order(candidate(t, "local-1", .2)))
	require.ErrorIs(t, err, backgrounds.ErrVersionTaken, "templates name their background by its version")
	require.Error(t, backgrounds.Retire(t.Context(), st, "gait", "cli", storetest.Epoch))
}

// restricted is a background learned from recordings that may not be used commercially.
func restricted(t *testing.T) []byte {
	t.Helper()
	bg, err := scoring.ParseBackground(candidate(t, "study-1", .2))
	require.NoError(t, err)
	bg.Card.NonCommercial = true
	body, err := bg.Marshal()
	require.NoError(t, err)
	return body
}

func TestLoadReplacesABackgroundOfAnEarlierSchema(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := backgrounds.Activate(t.Context(), st, order(candidate(t, "early-1", .2)))
	require.NoError(t, err)
	_, err = st.Pool().Exec(t.Context(), "UPDATE backgrounds SET body = replace(convert_from(body, 'UTF8'), 'cs-features-2', 'cs-features-1')::bytea")
	require.NoError(t, err)
	s, log := replica(t, st)
	require.NoError(t, s.Load(t.Context()))
	require.Equal(t, scoring.Default().Version(), s.assessor.Model().Version())
	require.Contains(t, log.String(), "early-1")
}

func TestWarnReportsNonCommercialDataInLiveEnvironments(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	storetest.Environment(t, st, models.Sandbox)
	s, log := replica(t, st)
	live := func() models.Environment {
		env := storetest.Environment(t, st, models.Live)
		require.NoError(t, s.Warn(t.Context()))
		return env
	}
	live()
	require.Empty(t, log.String(), "anyone may use the embedded backgrounds")
	_, err := backgrounds.Activate(t.Context(), st, order(restricted(t)))
	require.NoError(t, err)
	require.NoError(t, s.Load(t.Context()))
	env := live()
	require.Contains(t, log.String(), env.ID)
	require.Contains(t, log.String(), "may not be used commercially")
}
