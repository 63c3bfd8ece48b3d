package signing_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/signing"
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

// A stored proof belongs to its decision: that of another gives an error and never a different proof.
func TestChangedRowsGiveNoProof(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := fixture.New(t, b.st, b.time.Now())
	require.NoError(t, b.replicas[0].Establish(t.Context(), b.st.Q, w.Scope, "cli:test"))
	a := decided(w)
	p, compact, err := b.replicas[0].Issue(t.Context(), b.st.Q, &a, found, 300, nil)
	require.NoError(t, err)
	require.NotContains(t, string(p.Sealed), compact)
	for name, change := range map[string]func(p *models.Proof){
		"the decision": func(p *models.Proof) { p.AuthorizationID = "azn_other" },
		"the seal":     func(p *models.Proof) { p.Sealed = bytes.ToUpper(p.Sealed) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := *p
			change(&row)
			_, err := b.replicas[0].Compact(row)
			require.Error(t, err)
			require.NotContains(t, err.Error(), a.Nonce)
		})
	}
	got, err := b.replicas[1].Compact(*p)
	require.NoError(t, err)
	require.Equal(t, compact, got)
}

// A repeated request is returned its proof after the key that signed it was rotated out and retired.
func TestProofsOfRetiredKeysAreRestored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := fixture.New(t, b.st, b.time.Now())
	b.scope = w.Scope
	require.NoError(t, b.replicas[0].Establish(t.Context(), b.st.Q, w.Scope, "cli:test"))
	a := decided(w)
	p, compact, err := b.replicas[0].Issue(t.Context(), b.st.Q, &a, found, 300, nil)
	require.NoError(t, err)
	require.NoError(t, b.rotate())
	b.time.Advance(2 * signing.Overlap)
	n, err := b.replicas[0].Retire(t.Context(), b.scope, "upkeep")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got, err := b.replicas[1].Compact(*p)
	require.NoError(t, err)
	require.Equal(t, compact, got)
}
