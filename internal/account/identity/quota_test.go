package identity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func TestQuotaCeilingIsExceededByTheOperatorOnly(t *testing.T) {
	t.Parallel()
	of := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		kind    models.EnvironmentKind
		ceiling *int
		asked   *int
		actor   string
		refused bool
		want    int // quota of a credential that has it all the same
	}{
		"sandbox default":              {kind: models.Sandbox, actor: "credential:crd_1", want: SandboxQuota},
		"live default":                 {kind: models.Live, actor: "credential:crd_1", want: LiveQuota},
		"less":                         {kind: models.Live, asked: of(5), actor: "credential:crd_1", want: 5},
		"all there is":                 {kind: models.Live, asked: of(LiveQuota), actor: "credential:crd_1", want: LiveQuota},
		"more":                         {kind: models.Live, asked: of(1_000_000_000), actor: "credential:crd_1", refused: true, want: LiveQuota},
		"more in a sandbox":            {kind: models.Sandbox, asked: of(SandboxQuota + 1), actor: "person:prs_1", refused: true, want: SandboxQuota},
		"more, by the operator":        {kind: models.Live, asked: of(1_000_000), actor: "cli:credential create", want: 1_000_000},
		"within a raised ceiling":      {kind: models.Live, ceiling: of(50_000), asked: of(50_000), actor: "credential:crd_1", want: 50_000},
		"default under a raised one":   {kind: models.Live, ceiling: of(50_000), actor: "credential:crd_1", want: LiveQuota},
		"beyond a lowered ceiling":     {kind: models.Live, ceiling: of(100), asked: of(500), actor: "credential:crd_1", refused: true, want: 100},
		"default under a lowered one":  {kind: models.Live, ceiling: of(100), actor: "cli:tenant create", want: 100},
		"operator's above a lowered":   {kind: models.Live, ceiling: of(100), asked: of(500), actor: "cli:credential create", want: 500},
		"a name that only looks alike": {kind: models.Live, asked: of(LiveQuota + 1), actor: "credential:cli:", refused: true, want: LiveQuota},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := models.Environment{Kind: c.kind, RateLimitCeiling: c.ceiling}
			err := checkCeiling(c.asked, env, c.actor)
			if c.refused {
				p := problem.As(err)
				require.NotNil(t, p)
				require.Equal(t, []any{"body", "rate_limit"}, p.Fields[0].Loc)
				require.Contains(t, p.Fields[0].Msg, "operator")
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, c.want, effectiveLimit(c.asked, c.actor, env))
		})
	}
}
