package signing_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/models"
)

// found has the findings of the decisions of decided.
var found = signing.Findings{Kind: "live", Subject: "user-4711", Statuses: map[string]string{"automation": "not_detected"}}

// decided returns a decision whose profile has what found says.
func decided(w *fixture.World) models.Authorization {
	a := w.Authorization("allow")
	a.Assurance = models.JSON(`{"subject":"user-4711","claims":[{"claim":"automation","status":"not_detected"}],"freshness_ms":null}`)
	return a
}

// Of a proof only the signature is stored: whatever a decision says, its rows give back the same bytes.
func TestStoredSignaturesGiveTheProofByteForByte(t *testing.T) {
	t.Parallel()
	b := setup(t)
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aZ09-_.:/@ <>&\"\\\u00e9\u6f22\U0001f600\u2028\u2029\ufffd\u202e\t\u007f\u0001")), 1, 60, -1)
	rapid.Check(t, func(r *rapid.T) {
		digest := rapid.Custom(func(r *rapid.T) string { return canonical.DigestBytes(rapid.SliceOf(rapid.Byte()).Draw(r, "digested")) })
		a := models.Authorization{
			ID: text.Draw(r, "id"), TenantID: b.scope.Tenant, EnvironmentID: b.scope.Environment, ActionKey: text.Draw(r, "action"), Actor: text.Draw(r, "actor"),
			ResourceType: text.Draw(r, "type"), ResourceDigest: digest.Draw(r, "resource"), ContextDigest: digest.Draw(r, "context"),
			ActionHash: digest.Draw(r, "hash"), PolicyHash: digest.Draw(r, "policy"), Audience: text.Draw(r, "audience"),
			Nonce: strings.Repeat(text.Draw(r, "nonce"), rapid.IntRange(1, 4).Draw(r, "times")), PolicyVersion: rapid.IntRange(1, 1<<30).Draw(r, "version"),
			Mode: rapid.SampledFrom([]models.ActionMode{models.ModeEnforce, models.ModeTest, models.ModeShadow}).Draw(r, "mode"), Coverage: text.Draw(r, "coverage"),
			DecidedAt: b.time.Now().Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(r, "decided"))), HoldApproved: rapid.Bool().Draw(r, "approved"),
			ChallengeCompleted: rapid.SampledFrom([]*string{nil, new(proof.MethodPasskey), new(proof.MethodSandboxConfirm)}).Draw(r, "method"),
		}
		f := signing.Findings{
			Kind: rapid.SampledFrom([]string{"sandbox", "live"}).Draw(r, "kind"), ByEvidence: rapid.Bool().Draw(r, "evidence"), Subject: text.Draw(r, "subject"),
			FreshnessMS: rapid.Ptr(rapid.Int64(), true).Draw(r, "freshness"), Statuses: rapid.MapOfN(text, text, 0, 5).Draw(r, "statuses"),
		}
		a.Assurance = profileOf(f)
		p, compact, err := b.replicas[0].Issue(t.Context(), b.st.Q, &a, f, rapid.IntRange(30, 900).Draw(r, "seconds"))
		require.NoError(r, err)
		require.Less(r, len(p.Sealed), 160)

		// As Postgres gives them back.
		a.DecidedAt, p.IssuedAt = a.DecidedAt.Truncate(time.Microsecond), p.IssuedAt.Truncate(time.Microsecond)
		read := a
		read.Assurance, read.Explanation, read.Response = nil, nil, nil
		read.Record = a.PackRecord()
		require.NoError(r, read.UnpackRecord())
		got, err := b.replicas[1].Compact(t.Context(), read, *p)
		require.NoError(r, err)
		require.Equal(r, compact, *got)
	})
}

func profileOf(f signing.Findings) models.JSON {
	type claim struct {
		Claim  string `json:"claim"`
		Status string `json:"status"`
	}
	profile := struct {
		Subject   string  `json:"subject"`
		Freshness *int64  `json:"freshness_ms"`
		Claims    []claim `json:"claims"`
	}{f.Subject, f.FreshnessMS, []claim{}}
	for c, s := range f.Statuses {
		profile.Claims = append(profile.Claims, claim{c, s})
	}
	raw, err := json.Marshal(profile)
	if err != nil {
		panic(err)
	}
	return raw
}

// A row that was changed, or a key that is not the one that signed, gives an error and never a different proof.
func TestChangedRowsGiveNoProof(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := fixture.New(t, b.st, b.time.Now())
	require.NoError(t, b.replicas[0].Establish(t.Context(), b.st.Q, w.Scope, "cli:test"))
	a := decided(w)
	p, compact, err := b.replicas[0].Issue(t.Context(), b.st.Q, &a, found, 300)
	require.NoError(t, err)
	for name, change := range map[string]func(a *models.Authorization, p *models.Proof){
		"the audience": func(a *models.Authorization, _ *models.Proof) { a.Audience = "evil-api" },
		"the subject": func(a *models.Authorization, _ *models.Proof) {
			a.Assurance = profileOf(signing.Findings{Subject: "x"})
		},
		"the decision":           func(a *models.Authorization, _ *models.Proof) { a.ID = "azn_other" },
		"the expiry":             func(_ *models.Authorization, p *models.Proof) { p.ExpiresAt = p.ExpiresAt.Add(time.Minute) },
		"the key":                func(_ *models.Authorization, p *models.Proof) { p.KID = "of-no-one" },
		"the profile is no JSON": func(a *models.Authorization, _ *models.Proof) { a.Assurance = models.JSON("x") },
		"the seal":               func(_ *models.Authorization, p *models.Proof) { p.Sealed = bytes.ToUpper(p.Sealed) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed, row := a, *p
			change(&changed, &row)
			got, err := b.replicas[0].Compact(t.Context(), changed, row)
			require.Error(t, err)
			require.Nil(t, got)
			require.NotContains(t, err.Error(), a.Nonce)
		})
	}
	got, err := b.replicas[0].Compact(t.Context(), a, *p)
	require.NoError(t, err)
	require.Equal(t, compact, *got)
}

// A repeated request is returned its proof after the key that signed it was rotated out and retired.
func TestProofsOfRetiredKeysAreRestored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := fixture.New(t, b.st, b.time.Now())
	b.scope = w.Scope
	require.NoError(t, b.replicas[0].Establish(t.Context(), b.st.Q, w.Scope, "cli:test"))
	a := decided(w)
	p, compact, err := b.replicas[0].Issue(t.Context(), b.st.Q, &a, found, 300)
	require.NoError(t, err)
	require.NoError(t, b.rotate())
	b.time.Advance(2 * signing.Overlap)
	n, err := b.replicas[0].Retire(t.Context(), b.scope, "upkeep")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got, err := b.replicas[1].Compact(t.Context(), a, *p)
	require.NoError(t, err)
	require.Equal(t, compact, *got)
}

// While binaries may run that read whole proofs only, whole proofs are stored.
func TestProofsAreStoredForTheOldestBinary(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := fixture.New(t, b.st, b.time.Now())
	require.NoError(t, b.replicas[0].Establish(t.Context(), b.st.Q, w.Scope, "cli:test"))
	_, err := b.st.Pool().Exec(t.Context(), "update schema_floor set version = 63")
	require.NoError(t, err)
	size := func() int {
		a := decided(w)
		a.DecidedAt = b.time.Now()
		p, compact, err := b.replicas[0].Issue(t.Context(), b.st.Q, &a, found, 300)
		require.NoError(t, err)
		got, err := b.replicas[1].Compact(t.Context(), a, *p)
		require.NoError(t, err)
		require.Equal(t, compact, *got)
		return len(p.Sealed)
	}
	require.Greater(t, size(), 250)
	_, err = b.st.Contract(t.Context(), func(int, int) {})
	require.NoError(t, err)
	b.time.Advance(61 * time.Second) // within a minute a process learns that older binaries are gone
	require.Less(t, size(), 160)
}
