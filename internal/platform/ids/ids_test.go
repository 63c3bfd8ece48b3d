package ids_test

import (
	"math/big"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/ids"
)

func TestNewSortsByTime(t *testing.T) {
	t.Parallel()
	made := make([]string, 1000)
	seen := map[string]bool{}
	for i := range made {
		made[i] = ids.New(ids.Authorization)
		require.True(t, ids.Has(ids.Authorization, made[i]), made[i])
		require.False(t, seen[made[i]])
		seen[made[i]] = true
	}
	require.True(t, sort.StringsAreSorted(made))
}

func TestNewIsAUUIDv7(t *testing.T) {
	t.Parallel()
	digits := strings.Map(func(r rune) rune { return rune('0' + strings.IndexRune("0123456789abcdefghjkmnpqrstvwxyz", r)) }, strings.TrimPrefix(ids.New(ids.Subject), "sub_"))
	value := new(big.Int)
	for _, d := range digits {
		value.Add(value.Lsh(value, 5), big.NewInt(int64(d-'0')))
	}
	var u uuid.UUID
	value.FillBytes(u[:])
	require.Equal(t, uuid.Version(7), u.Version())
	require.Equal(t, uuid.RFC4122, u.Variant())
	at, _ := u.Time().UnixTime()
	require.InDelta(t, time.Now().Unix(), at, 60)
}

func TestNewAllocatesOneObject(t *testing.T) {
	require.InDelta(t, 1, testing.AllocsPerRun(100, func() { ids.New(ids.Event) }), 0)
}

// Ids of concurrent requests are distinct, and each goroutine's are in order.
func TestNewIsOrderedForEachOfManyGoroutines(t *testing.T) {
	t.Parallel()
	made := make([][]string, 8)
	var running sync.WaitGroup
	for i := range made {
		running.Go(func() {
			for range 1000 {
				made[i] = append(made[i], ids.New(ids.Event))
			}
		})
	}
	running.Wait()
	seen := map[string]bool{}
	for _, list := range made {
		require.True(t, slices.IsSorted(list))
		for _, id := range list {
			require.False(t, seen[id], id)
			seen[id] = true
		}
	}
}

func TestLowestDividesByTime(t *testing.T) {
	t.Parallel()
	before := time.Now()
	id := ids.New(ids.Session)
	require.Less(t, ids.Lowest(ids.Session, before), id)
	require.Greater(t, ids.Lowest(ids.Session, time.Now().Add(time.Minute)), id)
	require.True(t, ids.Has(ids.Session, ids.Lowest(ids.Session, before)))
	require.Equal(t, "ses_01jnhsm8000000000000000000", ids.Lowest(ids.Session, time.Date(2025, 3, 5, 0, 0, 0, 0, time.UTC)))
}

func TestHas(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"azn_01jqx3k5v8e2sbyk0c4m7t9wzd":  true,
		"azn_81jqx3k5v8e2sbyk0c4m7t9wzd":  false, // over 128 bits
		"azn_01jqx3k5v8e2sbyk0c4m7t9wz":   false,
		"azn_01jqx3k5v8e2sbyk0c4m7t9wzdd": false,
		"azn_01jqx3k5v8e2sbyk0c4m7t9wzi":  false, // i is no base32 digit
		"azn_01JQX3K5V8E2SBYK0C4M7T9WZD":  false,
		"chl_01jqx3k5v8e2sbyk0c4m7t9wzd":  false,
		"azn":                             false,
		"":                                false,
	} {
		require.Equal(t, want, ids.Has(ids.Authorization, s), s)
	}
}
