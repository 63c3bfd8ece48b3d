package action_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"

	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

type bundle struct {
	*fixture.World
	*action.Service
	clock     *clock.Fake
	principal identity.Principal
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{World: fixture.New(t, storetest.New(t), storetest.Epoch), clock: clock.NewFake(storetest.Epoch)}
	b.principal, b.Service = b.Principal("crd_server"), action.New(b.Store, b.clock)
	return b
}

func (b *bundle) create(t *testing.T, key string) models.Action {
	t.Helper()
	a, err := b.Create(t.Context(), b.principal, action.Create{Key: key, Name: "Export", Consequence: "Data leaves.", AllowedAudiences: []string{"api"}})
	require.NoError(t, err)
	return a
}

func (b *bundle) draft(t *testing.T, id string, in action.CreateVersion) models.PolicyVersion {
	t.Helper()
	v, err := b.CreateVersion(t.Context(), b.principal, id, in)
	require.NoError(t, err)
	return v
}

func requireProblem(t *testing.T, err error, code problem.Code) {
	t.Helper()
	require.True(t, problem.Is(err, code), "want %s, got %v", code, err)
}

func TestCreateAppliesTheDefaults(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.create(t, "data.export")
	require.Equal(t, "high", a.RiskClass)
	require.Equal(t, "resource", a.ResourceType)
	require.Equal(t, 300, a.ProofTTLSeconds)
	require.Equal(t, models.ModeTest, a.Mode, "a new action enforces nothing")
	require.Nil(t, a.ActivePolicyVersion)
	_, err := b.Create(t.Context(), b.principal, action.Create{Key: "data.export"})
	requireProblem(t, err, problem.ActionKeyExists)
}

// What people read before they approve is refused with characters that change how it is read, wherever it is set.
func TestTextsThatPeopleApproveAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.create(t, "payments.refund")
	for name, text := range map[string]string{"direction": "Pay\u202eyaP", "line break": "Pay\nme", "invisible": "P\u200bay", "two scripts": "P\u0430y"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := action.Create{Key: "data.export", Name: "Export", Consequence: "Data leaves.", AllowedAudiences: []string{"api"}}
			for _, spoil := range []func(*action.Create){
				func(c *action.Create) { c.Name = text }, func(c *action.Create) { c.Consequence = text }, func(c *action.Create) { c.AllowedAudiences = []string{"api", text} },
			} {
				in := good
				spoil(&in)
				_, err := b.Create(t.Context(), b.principal, in)
				requireProblem(t, err, problem.Unprocessable)
			}
			for _, in := range []action.Change{{Name: &text}, {Consequence: &text}} {
				_, err := b.Update(t.Context(), b.principal, a.ID, in)
				requireProblem(t, err, problem.Unprocessable)
			}
			_, err := b.CreateVersion(t.Context(), b.principal, a.ID, action.CreateVersion{AllowedAudiences: []string{text}})
			requireProblem(t, err, problem.Unprocessable)
		})
	}
}

// requireField requires a validation error of labels with a text in its message.
func requireField(t *testing.T, err error, text, name string) {
	t.Helper()
	var refused *problem.Error
	require.ErrorAs(t, err, &refused, name)
	require.Equal(t, problem.Unprocessable, refused.Code, name)
	require.Equal(t, "labels", refused.Fields[0].Loc[1], name)
	require.Contains(t, refused.Fields[0].Msg, text, name)
}

// Texts in other languages are checked as those of the action, and none is left behind that translates an earlier text.
func TestTextsInOtherLanguages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	german := map[string]models.ActionText{"de": {Name: "Zahlung", Consequence: "Geld fließt ab."}}
	for name, labels := range map[string]map[string]models.ActionText{
		"no language tag":      {"german": {Name: "Zahlung", Consequence: "Geld fließt ab."}},
		"not as it is written": {"DE": {Name: "Zahlung", Consequence: "Geld fließt ab."}},
		"a direction":          {"de": {Name: "Zahl\u202egnu", Consequence: "Geld fließt ab."}},
		"a line break":         {"de": {Name: "Zahlung", Consequence: "Geld\nfließt ab."}},
	} {
		_, err := b.Create(t.Context(), b.principal, action.Create{Key: "data.export", Labels: labels})
		requireField(t, err, "labels", name)
	}
	a, err := b.Create(t.Context(), b.principal, action.Create{Key: "data.export", Name: "Payment", Consequence: "Money leaves.", Labels: german})
	require.NoError(t, err)
	name, same := "Transfer", "Payment"
	_, err = b.Update(t.Context(), b.principal, a.ID, action.Change{Name: &name})
	requireField(t, err, "the stored ones translate the old: de", "")
	for _, c := range []struct {
		change action.Change
		want   map[string]models.ActionText
	}{
		{action.Change{Name: &same}, german},
		{action.Change{Name: &name, Labels: map[string]models.ActionText{"fr": {Name: "Paiement", Consequence: "L'argent part."}}}, map[string]models.ActionText{"fr": {Name: "Paiement", Consequence: "L'argent part."}}},
		{action.Change{Labels: map[string]models.ActionText{}}, map[string]models.ActionText{}},
	} {
		_, err = b.Update(t.Context(), b.principal, a.ID, c.change)
		require.NoError(t, err)
		a, err = b.Get(t.Context(), b.Scope, a.ID)
		require.NoError(t, err)
		got, err := a.Texts()
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func TestCreateRefusesAContextSchemaThatIsNoObject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, schema := range map[string]string{"other type": `{"type":"array"}`, "unknown type": `{"type":"no such type"}`, "malformed": `{`} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Create(t.Context(), b.principal, action.Create{Key: "data.export", ContextSchema: json.RawMessage(schema)})
			requireProblem(t, err, problem.Unprocessable)
		})
	}
}

func TestArchiveFreesTheKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.create(t, "data.export")
	require.NoError(t, b.Archive(t.Context(), b.principal, a.ID))
	_, err := b.Get(t.Context(), b.Scope, a.ID)
	requireProblem(t, err, problem.NotFound)
	requireProblem(t, b.Archive(t.Context(), b.principal, a.ID), problem.NotFound)
	require.NotEqual(t, a.ID, b.create(t, "data.export").ID)
}

func TestUpdateChangesOnlyTheGivenFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.create(t, "data.export")
	mode := models.ModeEnforce
	after, err := b.Update(t.Context(), b.principal, a.ID, action.Change{Mode: &mode})
	require.NoError(t, err)
	require.Equal(t, models.ModeEnforce, after.Mode)
	require.Equal(t, a.Name, after.Name)
	_, err = b.Update(t.Context(), b.principal, "act_unknown", action.Change{Mode: &mode})
	requireProblem(t, err, problem.NotFound)
}

// Omitted fields come from the active version, and from the action before there is one.
func TestCreateVersionCopiesOmittedFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.create(t, "data.export")
	first := b.draft(t, a.ID, action.CreateVersion{})
	require.Equal(t, 1, first.Version)
	require.Equal(t, a.AllowedAudiences, first.AllowedAudiences)

	second := b.draft(t, a.ID, action.CreateVersion{AllowedAudiences: []string{"other-api"}})
	_, err := b.Activate(t.Context(), b.principal, a.ID, second.Version)
	require.NoError(t, err)
	third := b.draft(t, a.ID, action.CreateVersion{})
	require.Equal(t, 3, third.Version)
	require.Equal(t, models.Strings{"other-api"}, third.AllowedAudiences)
	require.Equal(t, second.ContentHash, third.ContentHash, "the hash depends on the content alone")
	require.NotEqual(t, first.ContentHash, second.ContentHash)
}

func TestCreateVersionRefusesRequirements(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.create(t, "data.export")
	_, err := b.CreateVersion(t.Context(), b.principal, "act_unknown", action.CreateVersion{})
	requireProblem(t, err, problem.NotFound)
	live := b.principal
	live.Kind = models.Live
	_, err = b.CreateVersion(t.Context(), live, a.ID, action.CreateVersion{
		Requirements: policy.Requirements{ChallengeMethods: []policy.Method{policy.SandboxConfirm}},
	})
	requireProblem(t, err, problem.Unprocessable)
}

func TestActivateMovesADraftOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.create(t, "data.export")
	first, second := b.draft(t, a.ID, action.CreateVersion{}), b.draft(t, a.ID, action.CreateVersion{})
	activate := func(version int) (models.PolicyVersion, error) {
		return b.Activate(t.Context(), b.principal, a.ID, version)
	}
	v, err := activate(first.Version)
	require.NoError(t, err)
	require.Equal(t, models.PolicyActive, v.Status)
	_, err = activate(first.Version)
	require.NoError(t, err, "activating the active version changes nothing")
	require.Equal(t, 1, b.Events("policy.activated"))

	_, err = activate(second.Version)
	require.NoError(t, err)
	before, err := b.Version(t.Context(), b.Scope, a.ID, first.Version)
	require.NoError(t, err)
	require.Equal(t, models.PolicyRetired, before.Status)
	require.Equal(t, 1, b.Events("policy.retired"))

	_, err = activate(first.Version)
	requireProblem(t, err, problem.PolicyNotDraft)
	_, err = activate(99)
	requireProblem(t, err, problem.NotFound)
}

// The process that activates a version applies it at once. A process that missed the notification does so within seconds.
func TestActivationReachesEveryProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := action.New(b.Store, b.clock)
	a := b.create(t, "data.export")
	_, err := b.InForce(t.Context(), b.Scope, a.Key)
	requireProblem(t, err, problem.NoActivePolicy)
	_, err = b.InForce(t.Context(), b.Scope, "unknown")
	requireProblem(t, err, problem.NotFound)

	version := func(s *action.Service) int {
		t.Helper()
		f, err := s.InForce(t.Context(), b.Scope, a.Key)
		require.NoError(t, err)
		return f.Version
	}
	for range 2 {
		v := b.draft(t, a.ID, action.CreateVersion{})
		_, err := b.Activate(t.Context(), b.principal, a.ID, v.Version)
		require.NoError(t, err)
		require.Equal(t, v.Version, version(b.Service))
		if v.Version == 1 {
			require.Equal(t, 1, version(other))
		}
	}
	require.Equal(t, 1, version(other), "cached")
	other.Forget(b.Scope.Environment + " " + a.Key)
	require.Equal(t, 2, version(other), "notified")

	v := b.draft(t, a.ID, action.CreateVersion{})
	_, err = b.Activate(t.Context(), b.principal, a.ID, v.Version)
	require.NoError(t, err)
	b.clock.Advance(10 * time.Second)
	require.Equal(t, 3, version(other), "the cache has expired")
}
