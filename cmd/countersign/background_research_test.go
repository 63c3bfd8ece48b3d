package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// consented keeps the frames of people who agreed to research, as the service does while they type.
func consented(t *testing.T, w *fixture.World, people, frames int) {
	t.Helper()
	keys, err := keyring.Parse(os.Getenv("COUNTERSIGN_MASTER_KEY"))
	require.NoError(t, err)
	service := research.New(w.Store, keys, true)
	w.Exec("update environments set research_enabled = true")
	env, err := tenancy.GetEnvironment(t.Context(), w.Store.Q, w.Scope)
	require.NoError(t, err)
	for seed := range people {
		subject := storetest.Subject(t, w.Store, env, fmt.Sprint("person-", seed))
		w.Exec("update subjects set research_consent = true where uid = $1", subject.UID)
		who := synthetic.NewTypist(uint64(seed))
		for range frames {
			data, err := who.Frame(50).MarshalBinary()
			require.NoError(t, err)
			require.NoError(t, w.Store.Write(t.Context(), func(q *pg.Q) error {
				kept, err := service.Save(t.Context(), q, w.Scope, research.Vector{SubjectUID: subject.UID, DeviceClass: "desktop", Data: data, At: storetest.Epoch})
				require.True(t, kept)
				return err
			}))
		}
		// Who is held back goes by the pseudonym, which is drawn by chance: a name of its own makes every run the same.
		w.Exec("update research_vectors set pseudonym = $1 where pseudonym not like 'person-%'", fmt.Appendf(nil, "person-%03d", seed))
	}
}

// spoiled is a background that takes people for what they are not: what it knows of one cell it says of another.
func spoiled(t *testing.T, from, to string) {
	t.Helper()
	bg, err := readBackground(from, features.Keystroke)
	require.NoError(t, err)
	bg.Version = "spoiled-1"
	n := bg.Dim()
	for i := range n / 2 {
		bg.Mu[i], bg.Mu[n-1-i] = bg.Mu[n-1-i]+3, bg.Mu[i]-3
	}
	body, err := bg.Marshal()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, body, 0o600))
}

// What people who consented left is learned from, measured on those of them held back, and put in force unless it is worse.
func TestBackgroundFromResearchVectors(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	st := opened(t, url)
	w := fixture.New(t, st, storetest.Epoch)
	dir := t.TempDir()
	own, bad := filepath.Join(dir, "own.json"), filepath.Join(dir, "spoiled.json")
	learn := []string{"background", "learn", "--from-research", "--version-name", "own-1", "--out", own, "--about", "Example's people",
		"--licence", "consent", "--hold-back", "0.4", "--date", "2026-03-02"}
	c.fails("too few people", learn...)

	consented(t, w, 60, 10)
	require.Contains(t, c.ok(learn...), "own-1: ")
	card, err := os.ReadFile(own + ".md")
	require.NoError(t, err)
	require.Contains(t, string(card), "Example's people")
	require.Contains(t, string(card), "held back from learning, to measure with: 40 %")
	require.Equal(t, 1, w.Events("background.learned"))
	require.Equal(t, 600, w.Count("select (data->>'vectors')::int from events where type = 'background.learned'"))
	bg, err := readBackground(own, features.Keystroke)
	require.NoError(t, err)
	require.True(t, bg.Card.Local)
	require.Less(t, bg.Card.People, 60, "some are held back")
	first, err := os.ReadFile(own)
	require.NoError(t, err)
	c.ok(learn...)
	again, err := os.ReadFile(own)
	require.NoError(t, err)
	require.Equal(t, first, again, "the same vectors and date give the same background")

	require.Contains(t, c.ok("background", "compare", "--from-research", embeddedName, own), "EER pooled")

	spoiled(t, own, bad)
	out, err := c.run("background", "activate", "--from-research", bad)
	require.ErrorIs(t, err, errWorse)
	require.Contains(t, out, "EER pooled", "what was measured is shown")
	require.Zero(t, w.Events("background.activated"))

	c.ok("background", "activate", "--from-research", own)
	require.Equal(t, 1, w.Events("background.activated"))
	inForce, _, _ := strings.Cut(c.ok("background", "list"), "\n\n")
	require.Contains(t, inForce, "own-1")
	require.Contains(t, c.ok("background", "list"), "in force: own-1+"+scoring.Default().Background(features.Pointer).Version)
	c.fails("worse", "background", "activate", "--from-research", bad)
	c.ok("background", "retire", "keystroke")
	require.NotContains(t, c.ok("background", "list"), "in force: own-1")
}
