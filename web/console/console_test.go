package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/models"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestRoutesNameARightThatARoleHas(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Routes() {
		require.False(t, seen[r.Method+r.Path], "%s %s is listed twice", r.Method, r.Path)
		seen[r.Method+r.Path] = true
		if r.Right != Open && r.Right != SignedIn {
			require.True(t, Permits(r.Right, []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}), r.Path)
		}
		if r.Method == post && r.Right != Open && r.Right != AnyRole {
			require.False(t, Permits(r.Right, []models.Role{models.RoleAuditor}), "an auditor changes nothing: %s", r.Path)
		}
	}
	require.False(t, Permits(Review, []models.Role{models.RoleOperator}))
	require.False(t, Permits(Review, nil))
	require.False(t, Permits("nothing of the kind", []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}))
}

func TestNextAllowsPagesOfTheConsoleOnly(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"":                                  Prefix,
		"/console":                          "/console",
		"/console/env_1/reviews?status=all": "/console/env_1/reviews?status=all",
		"/consolefoo":                       Prefix,
		"//elsewhere/console/":              Prefix,
		"https://elsewhere/console/":        Prefix,
		`/console/\elsewhere`:               Prefix,
		"/console/sign-in?next=x":           Prefix,
		"/console/invitation":               Prefix,
		"/console/../api/v1/meta":           Prefix,
		"/console/%2e%2e/api/v1/meta":       Prefix,
		"javascript:alert(1)":               Prefix,
	} {
		require.Equal(t, want, next(asked), asked)
	}
	rapid.Check(t, func(t *rapid.T) {
		got := next(rapid.String().Draw(t, "asked"))
		require.True(t, got == Prefix || len(got) > len(Prefix) && got[:len(Prefix)] == Prefix && (got[len(Prefix)] == '/' || got[len(Prefix)] == '?'), got)
	})
}

func TestStampWords(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{
		-time.Second:              "1 s ago",
		0:                         "in 0 s",
		59 * time.Minute:          "in 59 min",
		5*time.Hour + time.Minute: "in 5 h 01 min",
		71*time.Hour + 59*time.Minute + 59*time.Second: "in 71 h",
		-10 * 24 * time.Hour:                           "10 days ago",
	} {
		require.Equal(t, want, stamp{noon.Add(after), noon}.Words())
	}
	require.Equal(t, "hour", urgency(stamp{noon.Add(59 * time.Minute), noon}))
	require.Equal(t, "day", urgency(stamp{noon.Add(time.Hour), noon}))
	require.Equal(t, "none", urgency(stamp{noon.Add(24 * time.Hour), noon}))
	require.Nil(t, stamps{noon}.text("yesterday"))
	require.Nil(t, stamps{noon}.read(nil))
}

func TestSearchWindow(t *testing.T) {
	t.Parallel()
	from, to, fault := window("2026-03-01T09:30", "2026-03-02")
	require.Empty(t, fault)
	require.Equal(t, time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), *from)
	require.Equal(t, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), *to)
	from, to, fault = window("", "")
	require.Nil(t, from)
	require.Nil(t, to)
	require.Empty(t, fault)
	_, _, fault = window("tomorrow", "")
	require.Contains(t, fault, "From must be a date")
}

func TestActorOfNamesPersonsAndKinds(t *testing.T) {
	t.Parallel()
	names := map[string]string{"prs_1": "Ann"}
	for raw, want := range map[string]actor{
		"person:prs_1":       {"person", "Ann", "person:prs_1"},
		"person:prs_2":       {"person", "prs_2", "person:prs_2"},
		"credential:crd_1":   {"API key", "crd_1", "credential:crd_1"},
		"workflow:hold/1":    {"workflow", "hold/1", "workflow:hold/1"},
		"cli:person revoke":  {"command", "person revoke", "cli:person revoke"},
		"passkey:psk_1":      {"other", "passkey:psk_1", "passkey:psk_1"},
		"client_token:ctk_1": {"browser", "ctk_1", "client_token:ctk_1"},
	} {
		require.Equal(t, want, actorOf(raw, names))
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	before := models.PolicyVersion{
		ContentHash: "sha256:1", ContextSchema: models.JSON(`{}`), ProofTTLSeconds: 300, AllowedAudiences: models.Strings{"a", "b"},
		Requirements: models.JSON(`{"claims":{"operator_continuity":"likely"},"coverage_min":"partial","deny_on":["x"],"explicit_approval_required":false}`),
	}
	after := before
	after.ProofTTLSeconds, after.AllowedAudiences = 60, models.Strings{"b", "c"}
	after.Requirements = models.JSON(`{"claims":{"human_presence":"confirmed"},"coverage_min":"partial","deny_on":["x"],"explicit_approval_required":true}`)
	got, err := differences(before, after)
	require.NoError(t, err)
	changed := map[string][2]string{}
	for _, d := range got {
		if d.Changed {
			changed[d.Field] = [2]string{d.Before, d.After}
		}
		if d.Field == "allowed audiences" {
			require.Equal(t, []string{"c"}, d.Added)
			require.Equal(t, []string{"a"}, d.Removed)
		}
	}
	require.Equal(t, map[string][2]string{
		"claims operator_continuity": {"likely", ""}, "claims human_presence": {"", "confirmed"}, "explicit_approval_required": {"false", "true"},
		"proof lifetime (seconds)": {"300", "60"}, "allowed audiences": {"a, b", "b, c"},
	}, changed)
	require.Equal(t, "coverage_min", got[0].Field, "fields must be in the display order")

	same, err := differences(before, before)
	require.NoError(t, err)
	for _, d := range same {
		require.False(t, d.Changed, d.Field)
	}
}

func TestNewChart(t *testing.T) {
	t.Parallel()
	c := newChart("Decisions", "None.", map[string]int64{"deny": 1, "allow": 3, "hold": 0}, "allow", "hold", "deny")
	require.Equal(t, int64(4), c.Total)
	require.Equal(t, []string{"allow", "hold", "deny"}, []string{c.Bars[0].Label, c.Bars[1].Label, c.Bars[2].Label})
	require.Equal(t, "75.0 %", c.Bars[0].Share)
	require.Equal(t, barSpace, c.Bars[0].Width)
	require.Equal(t, "allow 3, hold 0, deny 1", c.Summary)
	require.Zero(t, newChart("Outcomes", "None.", nil).Total)
	ms := int64(7)
	require.Equal(t, int64(7), latency(map[string]*int64{"p50": &ms, "p95": nil}).Total)
}

// For any decisions and sessions, all points are within the dimensions of the plot.
func TestPlotStaysWithinItsDimensions(t *testing.T) {
	t.Parallel()
	v := &visit{grant: staff.Grant{Environment: models.Environment{ID: "env_1"}}}
	require.Nil(t, plotOf(v, reads.Subject{}, stamps{noon}, widePlot))
	rapid.Check(t, func(t *rapid.T) {
		var s reads.Subject
		ages := rapid.SliceOfN(rapid.IntRange(0, 1_000_000), 1, 30).Draw(t, "ages")
		for _, age := range ages {
			s.Decisions = append(s.Decisions, authorization.Trace{
				ID: "azn_1", Decision: "allow", DecidedAt: stamp{noon.Add(-time.Duration(age) * time.Second), noon}.ISO(),
				Assurance: []byte(`{"coverage":"` + rapid.SampledFrom(append(coverageLevels, "new")).Draw(t, "coverage") +
					`","claims":[{"claim":"operator_continuity","status":"` + rapid.SampledFrom(append(continuityLevels, "new")).Draw(t, "status") + `"}]}`),
			})
			score := rapid.Float64Range(0, 1).Draw(t, "score")
			s.Trust = append(s.Trust, reads.TrustPoint{At: noon.Add(-time.Duration(age) * time.Second), Score: &score})
			s.Sessions = append(s.Sessions, models.Session{
				StartedAt: noon.Add(-time.Duration(age+600) * time.Second), LastActivityAt: noon.Add(-time.Duration(age) * time.Second),
			})
		}
		for _, size := range []plotSize{widePlot, narrowPlot} {
			p := plotOf(v, s, stamps{noon}, size)
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

func TestLinksDependOnTemporalUIAndRights(t *testing.T) {
	t.Parallel()
	v := &visit{grant: staff.Grant{Environment: models.Environment{ID: "env_1"}, Roles: []models.Role{models.RoleAuditor}}}
	held := func() *caseView {
		view := &caseView{}
		view.Case.Trace = authorization.Trace{ID: "azn_1", Subject: "user-4711", Challenge: &authorization.ChallengeTrace{ID: "chl_1"}}
		view.Case.Hold, view.Case.ActionID = &models.Hold{}, "act_1"
		return view
	}
	c := &console{Deps: Deps{Clock: clock.NewFake(noon), TemporalUI: "http://localhost:8233/namespaces/countersign"}}
	view := held()
	c.links(v, view)
	require.Equal(t, []link{
		{"Workflow run of the challenge", "http://localhost:8233/namespaces/countersign/workflows/challenge%2Fchl_1"},
		{"Workflow run of the hold", "http://localhost:8233/namespaces/countersign/workflows/hold%2Fazn_1"},
	}, view.Workflows)
	require.Equal(t, "/console/env_1/subjects/user-4711", view.SubjectURL)
	require.Equal(t, "/console/env_1/policies/act_1/0", view.PolicyURL)

	c.TemporalUI, v.grant.Roles = "", []models.Role{models.RoleReviewer}
	view = held()
	c.links(v, view)
	require.Empty(t, view.Workflows)
	require.Empty(t, view.PolicyURL, "a reviewer has no right to see policies")
}
