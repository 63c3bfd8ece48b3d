package proof_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/sdk/go/internal/kit"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

func TestMain(m *testing.M) { kit.Main(m) }

func TestKitKeySets(t *testing.T) {
	t.Parallel()
	var set struct {
		Issuer, Environment, Audience string
		Now                           int64
		Expect                        struct {
			Action, Subject string
			Resource        struct{ Type, ID string }
			Context         map[string]any
		}
		Scripts []struct {
			Name, Guard string
			Checks      []struct {
				At             int64
				Proof, Outcome string
			}
		}
	}
	require.NoError(t, kit.Read("keys.json", &set))
	digest, err := proof.ContextDigest(set.Expect.Context)
	require.NoError(t, err)
	x := set.Expect
	expect := proof.Expect{Action: x.Action, Subject: x.Subject, ResourceType: x.Resource.Type, ResourceID: x.Resource.ID, Context: digest}
	// A connection for each request: a connection that is used again makes net/http repeat a GET that was dropped.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, s := range set.Scripts {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			base, err := kit.Case("keys", s.Name)
			require.NoError(t, err)
			clock := time.Unix(set.Now, 0)
			at := func() time.Time { return clock }
			v := &proof.Verifier{Keys: proof.NewRemoteAt(base, client, at), Issuer: set.Issuer, Environment: set.Environment, Audience: set.Audience, Now: at}
			for _, c := range s.Checks {
				clock = time.Unix(set.Now+c.At, 0)
				_, err := v.Verify(t.Context(), c.Proof, expect)
				outcome := "valid"
				var refused *proof.Error
				if errors.As(err, &refused) {
					outcome = refused.Code
				} else if err != nil {
					outcome = "unavailable"
				}
				require.Equal(t, c.Outcome, outcome, "guard %s, after %d s: %v", s.Guard, c.At, err)
			}
			faults, err := kit.Faults(t.Context(), base)
			require.NoError(t, err)
			require.Empty(t, faults)
		})
	}
}
