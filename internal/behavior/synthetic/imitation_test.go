package synthetic_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// A program that has the averages of what a person typed, and adds noise to them, scatters twice from one frame to the next: once as
// the person did, and once by its own noise.
func TestNoiseAroundSomeonesAveragesIsFoundOut(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	attacks := synthetic.Attacks()
	averages := attacks[slices.IndexFunc(attacks, func(a synthetic.Attack) bool { return a.Name == "victim's class means" })]
	const people = 60
	for name, c := range map[string]struct {
		change      func(rng *rand.Rand, typed []features.KeyEvent) []features.KeyEvent
		least, most int
	}{
		"the person": {func(_ *rand.Rand, typed []features.KeyEvent) []features.KeyEvent { return typed }, 0, 2},
		"a program":  {averages.Make, people / 2, people},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, trusted := 0, 0
			rng := rand.New(rand.NewPCG(5, 6))
			for i := range people {
				person := synthetic.NewTypist(uint64(4000 + i))
				templates := enrol(t, m, person)
				person.NewDay()
				var typed []features.Frame
				for range 6 {
					typed = append(typed, features.Extract(features.Raw{Keys: c.change(rng, person.Type(50)), ClockMS: 1}))
				}
				profile := observe(m, templates, typed)
				claim := profile.Claim(scoring.ClaimContinuity)
				if slices.Contains(claim.ReasonCodes, scoring.ReasonImitation) {
					found++
					require.Equal(t, scoring.Uncertain, claim.Status)
					automation := profile.Claim(scoring.ClaimAutomation)
					require.NotContains(t, automation.ReasonCodes, scoring.ReasonImitation, "it is a suspicion, not a finding")
					require.Contains(t, []scoring.Status{scoring.Uncertain, scoring.NotConfirmed}, profile.Claim(scoring.ClaimPresence).Status)
				}
				if claim.Status == scoring.Confirmed || claim.Status == scoring.Likely {
					trusted++
				}
			}
			t.Logf("found %d, trusted %d of %d", found, trusted, people)
			require.GreaterOrEqual(t, found, c.least)
			require.LessOrEqual(t, found, c.most)
		})
	}
}
