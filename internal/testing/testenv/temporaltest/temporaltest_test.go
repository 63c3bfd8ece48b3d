package temporaltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
)

func TestNamespacesAreApart(t *testing.T) {
	t.Parallel()
	address, a := temporaltest.Namespace(t)
	_, b := temporaltest.Namespace(t)
	require.NotEmpty(t, address)
	require.NotEqual(t, a, b)
}
