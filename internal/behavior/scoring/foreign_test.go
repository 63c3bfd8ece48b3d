package scoring

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// One passage unlike the person's refuses who never matched; who did may type an unusual one.
func TestOneUnusualPassage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		short       float64
		revocations int
		matched     bool
		status      Status
		reason      string
	}{
		"of someone who never matched":      {-6.5, 1, false, NotConfirmed, ReasonShortMismatch},
		"of someone who matched":            {-6.5, 1, true, Uncertain, ReasonShortMismatch},
		"the second of someone who matched": {-6.5, 2, true, NotConfirmed, ReasonShortMismatch},
		"a while ago":                       {9, 1, false, Likely, ReasonWeakMatch},
		"none":                              {9, 0, false, Likely, ReasonWeakMatch},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evidence{keys: 50, keyed: true, long: c.short, short: c.short, hasShort: true, revocations: c.revocations, matched: c.matched,
				limits: set{}, reasons: set{}}
			require.Equal(t, c.status, e.byKeys())
			require.Contains(t, e.reasons.list(), c.reason)
		})
	}
}

func TestOneFrameOfAStrangerSuffices(t *testing.T) {
	t.Parallel()
	m := populated()
	bg := m.Background(features.Keystroke)
	refused := 0
	const people = 12
	for i := range uint64(people) {
		ts := enrolled(m, drawPerson(bg, i))
		s, at := run(m, drawPerson(bg, 2000+i), ts, 1, NewState(Desktop), testStart.AddDate(0, 0, 9))
		if continuity(m, s, ts, at).Status == NotConfirmed {
			refused++
		}
	}
	require.GreaterOrEqual(t, refused, people*2/3)
}
