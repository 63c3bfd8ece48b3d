package audit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	_ "github.com/countersign-dev/countersign/internal/testing/tables" // verification compares every table
)

// A step that no state machine has is found for ever, whatever the stored rows say.
func TestVerifyFindsImpossibleSteps(t *testing.T) {
	t.Parallel()
	about := func(authorization, subject, id string, data events.Data) events.Entry {
		return events.Entry{At: noon, SubjectUID: subject, Subject: id, Action: "payment.release", AuthorizationID: authorization, Decision: "hold", Actor: "credential:crd_1", Data: data}
	}
	mine := func(data events.Data) events.Entry { return about("azn_1", "sub_1", "ada", data) }
	for name, tc := range map[string]struct {
		log    []events.Entry
		target string
		detail string
	}{
		"consumed twice": {[]events.Entry{mine(events.ProofConsumedData{ProofID: "prf_1"}), mine(events.ProofConsumedData{ProofID: "prf_1"})},
			"azn_1", "the proof ended more than once: proof.consumed, then proof.consumed"},
		"consumed after it was revoked": {[]events.Entry{mine(events.ProofRevokedData{ProofID: "prf_1"}), mine(events.ProofConsumedData{ProofID: "prf_1"})},
			"azn_1", "proof.revoked, then proof.consumed"},
		"approved after it was rejected": {[]events.Entry{mine(events.HoldRejectedData{}), mine(events.HoldApprovedData{ChildAuthorization: "azn_2"})},
			"azn_1", "the hold ended more than once: hold.rejected, then hold.approved"},
		"completed after it was cancelled": {[]events.Entry{mine(events.ChallengeCancelledData{}), mine(events.ChallengeCompletedData{ChildAuthorization: "azn_2"})},
			"azn_1", "challenge.cancelled, then challenge.completed"},
		"a recovery that ended twice": {[]events.Entry{
			about("", "sub_1", "ada", events.RecoveryExpiredData{Recovery: "rcv_1"}), about("", "sub_1", "ada", events.RecoveryCompletedData{Recovery: "rcv_1"})},
			"rcv_1", "the recovery ended more than once"},
		"decided for another subject than the challenge's": {[]events.Entry{
			mine(events.AuthorizationDecidedData{}), about("azn_2", "sub_2", "mallory", events.AuthorizationDecidedData{Parent: "azn_1"})},
			"azn_2", "follows one about a different subject"},
		"decided for one subject under another's id": {[]events.Entry{
			mine(events.SubjectCreatedData{}), about("azn_3", "sub_1", "mallory", events.ProofConsumedData{ProofID: "prf_3"})},
			"sub_1", "more than one id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.write(tc.log...)
			result, err := audit.Verify(t.Context(), b.st, b.scope, nil)
			require.NoError(t, err)
			var found []audit.Finding
			for _, f := range result.Findings {
				if f.Kind == audit.Impossible {
					found = append(found, f)
				}
			}
			require.Len(t, found, 1, "%v", result.Findings)
			require.Equal(t, tc.target, found[0].Target)
			require.Contains(t, found[0].Detail, tc.detail)
		})
	}
}

// Records of one environment that end once each are no finding.
func TestVerifyAcceptsOneEndingOfEachRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var log []events.Entry
	for _, azn := range []string{"azn_1", "azn_2"} {
		for _, data := range []events.Data{
			events.ChallengeCompletedData{ChildAuthorization: "azn_9"}, events.HoldApprovedData{ChildAuthorization: "azn_9"}, events.ProofConsumedData{ProofID: "p"},
		} {
			log = append(log, events.Entry{At: noon, SubjectUID: "sub_1", Subject: "ada", Action: "a", AuthorizationID: azn, Decision: "hold", Actor: "system", Data: data})
		}
	}
	b.write(log...)
	result, err := audit.Verify(t.Context(), b.st, b.scope, nil)
	require.NoError(t, err)
	for _, f := range result.Findings {
		require.NotEqual(t, audit.Impossible, f.Kind, "%v", f)
	}
}

// write logs entries, each in a transaction of its own, and seals them.
func (b *bundle) write(log ...events.Entry) {
	b.t.Helper()
	for _, e := range log {
		e.Scope = b.scope
		require.NoError(b.t, b.st.Write(b.t.Context(), func(q *pg.Q) error { return events.Append(b.t.Context(), q, e) }))
	}
	b.log(0)
}
