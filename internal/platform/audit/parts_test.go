package audit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
)

// divide divides the log by time, unless COUNTERSIGN_TEST_PARTITIONED did.
func (b *bundle) divide() {
	b.t.Helper()
	now, err := b.st.Time(b.t.Context())
	require.NoError(b.t, err)
	_, err = b.st.Partition(b.t.Context(), now, func(int, int) {})
	require.NoError(b.t, err)
}

// The keys of a log that is divided by time do not contain the numbers: verification finds a number that two links have.
func TestALinkWithTheNumberOfAnotherIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(2)
	b.divide()
	b.log(3)
	require.True(t, b.verify(nil).Intact())
	b.exec("insert into audit_chain select environment_id, seq, 'evt_0', previous, hash, sealed_at from audit_chain where seq = 3")
	links, err := b.st.Audit().Chain(t.Context(), b.scope, 1, 3)
	require.NoError(t, err)
	require.Len(t, links, 4, "the end of a page does not hide it")
	r := b.verify(nil)
	require.NotEmpty(t, r.Findings)
	require.Equal(t, audit.Inserted, r.Findings[0].Kind, "%+v", r.Findings)
	require.EqualValues(t, 3, r.Findings[0].Sequence)
}
