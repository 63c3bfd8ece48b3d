package console

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
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
	states, lines := map[string]string{}, map[string][]diffLine{}
	for _, d := range changedOnly(got) {
		states[d.Field], lines[d.Field] = d.State.Text, d.Lines
	}
	require.Equal(t, map[string]string{
		"claims operator_continuity": "removed", "claims human_presence": "added", "explicit_approval_required": "changed",
		"proof_ttl_seconds": "changed", "allowed_audiences": "changed",
	}, states)
	require.Equal(t, []diffLine{{"removed", []diffPart{{"a", false}}}, {"", []diffPart{{"b", false}}}, {"added", []diffPart{{"c", false}}}}, lines["allowed_audiences"])
	got, err = differences(before, before)
	require.NoError(t, err)
	require.Equal(t, "coverage_min", got[0].Field, "fields must be in the display order")
	require.Empty(t, changedOnly(got))
}

// A changed condition shows the words that changed, and a changed property of the context only itself. Nothing is escaped.
func TestDifferencesOfRulesAndSchemas(t *testing.T) {
	t.Parallel()
	version := func(limit, maximum string) models.PolicyVersion {
		return models.PolicyVersion{
			ContentHash: "sha256:1", ContextSchema: models.JSON(`{"type":"object","required":["amount"],"properties":{"amount":{"type":"number","maximum":` + maximum + `},"payee":{"type":"string"}}}`),
			Requirements: models.JSON(`{"rules":[{"name":"large","when":"context.amount > ` + limit + ` && context.payee != \"a&b\"","requirements":{"hold_on":["rule_matched"]},"reason":"Large."}]}`),
		}
	}
	got, err := differences(version("10", "100"), version("20", "200"))
	require.NoError(t, err)
	got = changedOnly(got)
	require.Len(t, got, 2)
	require.Equal(t, "rule large", got[0].Field)
	require.Equal(t, diffLine{"removed", []diffPart{{"context.amount > ", false}, {"10", true}}}, got[0].Lines[0])
	require.Equal(t, diffLine{"added", []diffPart{{"context.amount > ", false}, {"20", true}}}, got[0].Lines[1])
	require.Equal(t, diffLine{"", []diffPart{{`&& context.payee != "a&b"`, false}}}, got[0].Lines[2])
	require.Equal(t, "context.amount", got[1].Field)
	require.Equal(t, diffLine{"added", []diffPart{{"maximum: ", false}, {"200", true}}}, got[1].Lines[2])
	fresh, err := differences(models.PolicyVersion{}, version("10", "100"))
	require.NoError(t, err)
	require.Equal(t, "added", fresh[0].State.Text)
}

// Whatever two texts are, the removed and equal lines are the first of them, and the added and equal ones the second.
func TestLinesOfDifferences(t *testing.T) {
	t.Parallel()
	joined := func(parts []diffPart) (out string) {
		for _, p := range parts {
			out += p.Text
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b c", "b d", "", "ä-ö  x", "\xff"})
		before, after := rapid.SliceOfN(line, 0, 8).Draw(t, "before"), rapid.SliceOfN(line, 0, 8).Draw(t, "after")
		old, young := []string{}, []string{}
		for _, l := range lineByLine(before, after) {
			if l.Kind != "added" {
				old = append(old, joined(l.Parts))
			}
			if l.Kind != "removed" {
				young = append(young, joined(l.Parts))
			}
		}
		require.Equal(t, before, old)
		require.Equal(t, after, young)
	})
}

func TestPoliciesInWords(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["amount","payee","tags"],"properties":{"amount":{"type":"number","x-countersign-aggregate":"sum"},"payee":{"type":"string"},"tags":{"type":"array","maxItems":3,"items":{"type":"string","maxLength":9}}}}`
	for _, c := range []struct {
		name, requirements string
		want               []string
	}{
		{"nothing is required", `{"coverage_min":"none"}`, []string{"Allows every request."}},
		{"evidence", `{"coverage_min":"partial","claims":{"operator_continuity":"likely","evidence_replay":"not_detected"},"deny_on":["replay_exact"]}`, []string{
			"Denies a request for: replay exact.", "Asks for a passkey when the evidence is insufficient, less than partial, or older than 1 min.",
			"Asks for a passkey unless it is likely that the same person acts as before.",
			"Holds a request for review unless the evidence is free of replayed evidence.", "Otherwise allows.",
		}},
		{"rules", `{"coverage_min":"none","rules":[
			{"name":"large","when":"context.amount > 10000","requirements":{"hold_on":["rule_matched"],"review":[{"group":"treasury","approvals":1}]},"reason":"x"},
			{"name":"day","when":"subject.sum(\"amount\", \"pay\", \"allow\", \"24h\") + decimal(context.amount) > 20000","requirements":{"deny_on":["rule_matched"]},"reason":"x","reserve":true},
			{"name":"trust","when":"!(context.payee in list(\"trusted\"))","requirements":{"explicit_approval_required":true,"coverage_min":"partial"},"reason":"x"},
			{"name":"tags","when":"context.tags.exists(t, t == \"new\")","requirements":{"approvals_required":2},"reason":"x"}]}`, []string{
			"Holds a request for one approval of team treasury if amount is over 10,000.",
			"Denies a request if the sum of amount of allowed decisions about the subject in the last 24 hours plus amount is over 20,000. Requests that are decided at the same time count too.",
			"Asks for a passkey and requires coverage min partial if payee is not in the list trusted.",
			`Requires 2 approvals of what is held if this is true: context.tags.exists(t, t == "new")`, "Otherwise allows.",
		}},
		{"every request", `{"coverage_min":"none","explicit_approval_required":true}`, []string{"Asks for a passkey for every request, and allows what is confirmed by it."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r policy.Requirements
			require.NoError(t, json.Unmarshal([]byte(c.requirements), &r))
			raw, err := json.Marshal(r.Resolve(policy.Live))
			require.NoError(t, err)
			got, err := contentsOf(models.PolicyVersion{ContentHash: "x", Requirements: raw, ContextSchema: models.JSON(schema)})
			require.NoError(t, err)
			var said []string
			for _, s := range got.Does {
				said = append(said, strings.TrimSpace(s.Text+" "+strings.Join(s.Code, " ")))
			}
			require.Equal(t, c.want, said)
			require.Equal(t, schemaRow{Name: "amount", Type: "number", Required: true, Uses: []string{"added up"}}, got.Schema[0])
		})
	}
}

// A rule that is shown in the form is submitted as it was.
func TestRulesOfFormsAreLossless(t *testing.T) {
	t.Parallel()
	for _, requirements := range []string{
		`{"hold_on":["rule_matched"]}`, `{"deny_on":["rule_matched"],"hold_on":["rule_matched"]}`, `{"hold_on":["rule_matched","replay_exact"]}`,
		`{"explicit_approval_required":true,"approvals_required":3}`, `{"review":[{"group":"a","approvals":1}]}`, `{"review":[{"group":"a","approvals":2}]}`,
		`{"review":[{"group":"a","approvals":1,"escalate":{"after_seconds":600,"group":"b"}}],"coverage_min":"partial"}`,
		`{"review":[{"group":"a","approvals":1},{"group":"b","approvals":1}]}`, `{"claims":{"human_presence":"likely"}}`, `{"challenge_methods":[]}`,
	} {
		text := `[{"name":"r","when":"context.amount > 1","requirements":` + requirements + `,"reason":"Why."}]`
		var list []policy.Rule
		require.NoError(t, json.Unmarshal([]byte(text), &list))
		f := field{Name: "requirements.rules", Rules: ruleRows("requirements.rules", list)}
		body, faults := f.ruleValues()
		require.Empty(t, faults)
		got, err := json.Marshal(body)
		require.NoError(t, err)
		require.JSONEq(t, text, string(got))
	}
}

func TestRefusalsInPeoplesWords(t *testing.T) {
	t.Parallel()
	of := func(f field, msg, kind string, where ...any) string {
		return f.people(problem.Field{Loc: where, Msg: msg, Type: kind})
	}
	key := field{Name: "key", Label: "Key", Hint: "Dotted lower case, such as payments.transfer."}
	require.Equal(t, "Key is not written as it must be. Dotted lower case, such as payments.transfer.", of(key, "key must match ^[a-z]$", "string_pattern_mismatch", "body", "key"))
	require.Equal(t, "Key is missing. Fill it in.", of(key, "key is required", "missing", "body", "key"))
	age := field{Name: "requirements.freshness_max_ms", Label: "Maximum age"}
	require.Equal(t, "Maximum age must be at least 1000.", of(age, "requirements.freshness_max_ms must be at least 1000", "greater_than_equal", "body", "requirements", "freshness_max_ms"))
	when := field{Label: "Condition"}
	require.Equal(t, "Line 1 column 9: there is no property.", of(when, `requirements.rules[0].when of the rule "x": line 1 column 9: there is no property.`, "rule_invalid", "body", "requirements", "rules", 0, "when"))
	require.Equal(t, "Something else.", of(key, "Something else.", "value_error", "body", "key"))
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

func TestDurationsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for n, text := range map[int]string{30: "30 s", 90: "90 s", 300: "5 min", 5400: "90 min", 86400: "1 day", 259200: "3 days", 28800: "8 h"} {
		require.Equal(t, text, durationText(n))
		got, err := seconds(text)
		require.NoError(t, err)
		require.Equal(t, n, got)
	}
	for text, n := range map[string]int{"300": 300, "15min": 900, "15 minutes": 900, "3 Days": 259200, "1 day": 86400, "2 hours": 7200, "10 seconds": 10, "2d": 172800} {
		got, err := seconds(text)
		require.NoError(t, err)
		require.Equal(t, n, got, text)
	}
	for _, text := range []string{"", "soon", "-5 min", "1.5 h", "5 weeks", "min", "9999999999"} {
		_, err := seconds(text)
		require.Error(t, err, text)
	}
}

// Each setting is under a question, and says its default if it has one.
func TestSettingsAreGroupedByTheirQuestion(t *testing.T) {
	t.Parallel()
	e := models.Environment{Kind: models.Live, Settings: models.DefaultSettings(models.Live)}
	e.HoldTTLSeconds, e.BarSelfReview = 3600, false
	fields := settingFields(e)
	require.NotEmpty(t, fields[0].Heading)
	of := func(name string) field {
		i := slices.IndexFunc(fields, func(f field) bool { return f.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		return fields[i]
	}
	questions := form{Fields: fields}.Headings()
	require.Len(t, questions, 7)
	require.Equal(t, "1 h", of("hold_ttl_seconds").Value)
	require.Equal(t, "3 days", of("hold_ttl_seconds").Usually())
	require.Equal(t, "on", of("bar_self_review").Usually())
	require.Equal(t, "90", of("federated_key_days").Usually())
	require.Empty(t, of("rp_name").Default, "every environment has its own")
}
