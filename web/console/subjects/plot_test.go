package subjects

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// For any decisions and sessions, all points are within the dimensions of the plot.
func TestPlotStaysWithinItsDimensions(t *testing.T) {
	t.Parallel()
	v := &shell.Visit{Grant: staff.Grant{Environment: models.Environment{ID: "env_1"}}}
	require.Nil(t, plotOf(v, reads.Subject{}, show.Stamps{Now: noon}, widePlot))
	rapid.Check(t, func(t *rapid.T) {
		var s reads.Subject
		ages := rapid.SliceOfN(rapid.IntRange(0, 1_000_000), 1, 30).Draw(t, "ages")
		for _, age := range ages {
			s.Decisions = append(s.Decisions, authorization.Trace{
				ID: "azn_1", Decision: "allow", DecidedAt: show.Stamp{Time: noon.Add(-time.Duration(age) * time.Second), Now: noon}.ISO(),
				Assurance: []byte(`{"coverage":"` + rapid.SampledFrom(append(decisions.CoverageLevels, "new")).Draw(t, "coverage") +
					`","claims":[{"claim":"operator_continuity","status":"` + rapid.SampledFrom(append(decisions.ContinuityLevels, "new")).Draw(t, "status") + `"}]}`),
			})
			score := rapid.Float64Range(0, 1).Draw(t, "score")
			s.Trust = append(s.Trust, reads.TrustPoint{At: noon.Add(-time.Duration(age) * time.Second), Score: &score})
			s.Sessions = append(s.Sessions, models.Session{
				StartedAt: noon.Add(-time.Duration(age+600) * time.Second), LastActivityAt: noon.Add(-time.Duration(age) * time.Second),
			})
		}
		for _, size := range []plotSize{widePlot, narrowPlot} {
			p := plotOf(v, s, show.Stamps{Now: noon}, size)
			require.Len(t, p.Points, min(len(ages), size.decisions))
			for _, point := range p.Points {
				require.GreaterOrEqual(t, point.X, size.Left)
				require.LessOrEqual(t, point.X, size.Right)
				require.GreaterOrEqual(t, point.Y, plotTop)
				require.LessOrEqual(t, point.Y, plotBottom)
				require.GreaterOrEqual(t, point.CoverageY, coverTop)
			}
			for _, span := range p.Sessions {
				require.GreaterOrEqual(t, span.X, size.Left)
				require.LessOrEqual(t, span.X+span.Width, size.Right+2)
			}
			for i, tick := range p.Ticks[1:] {
				require.NotEqual(t, p.Ticks[i].Label, tick.Label, "a tick is doubled")
			}
		}
	})
}
