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
		c.put(fmt.Sprint(i), cachedInForce{InForce: &InForce{weight: cacheEach + maxSchemaBytes}}, c.changes)
		require.LessOrEqual(t, c.weight, cacheMax)
		require.LessOrEqual(t, len(c.rows)*(cacheEach+maxSchemaBytes), cacheMax)
	}
	c.put("one", cachedInForce{InForce: &InForce{weight: cacheEach}}, c.changes)
	before := c.weight
	c.put("one", cachedInForce{InForce: &InForce{weight: cacheEach}}, c.changes)
	require.Equal(t, before, c.weight, "a row that is replaced counts once")
	c.drop("one")
	require.Equal(t, before-cacheEach, c.weight)
}

func TestAContractReadBeforeAChangeIsNotCached(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]string{"this action": "env_1 a", "another action": "env_1 b", "every action": ""} {
		c := newCache()
		before := c.changes
		c.forget(changed)
		c.put("env_1 a", cachedInForce{InForce: &InForce{Version: 1}}, before)
		require.Empty(t, c.rows, name)
		require.Zero(t, c.weight, name)
		c.put("env_1 a", cachedInForce{InForce: &InForce{Version: 2}}, c.changes)
		require.Equal(t, 2, c.rows["env_1 a"].Version, name)
	}
}
