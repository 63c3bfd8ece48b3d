package action

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache()
	for i := range 10_000 {
		c.put(fmt.Sprint(i), cachedInForce{InForce: &InForce{weight: cacheEach + maxSchemaBytes}})
		require.LessOrEqual(t, c.weight, cacheMax)
		require.LessOrEqual(t, len(c.rows)*(cacheEach+maxSchemaBytes), cacheMax)
	}
	c.put("one", cachedInForce{InForce: &InForce{weight: cacheEach}})
	before := c.weight
	c.put("one", cachedInForce{InForce: &InForce{weight: cacheEach}})
	require.Equal(t, before, c.weight, "a row that is replaced counts once")
	c.drop("one")
	require.Equal(t, before-cacheEach, c.weight)
}
