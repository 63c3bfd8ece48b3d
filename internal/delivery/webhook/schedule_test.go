package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/models"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNextTryFollowsTheSchedule(t *testing.T) {
	t.Parallel()
	for i, want := range []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour} {
		at, final := nextTry(i+1, AttemptResult{}, noon, 0.5)
		require.False(t, final)
		require.WithinDuration(t, noon.Add(want), at, time.Millisecond, "after attempt %d", i+1)
	}
	_, final := nextTry(MaxAttempts, AttemptResult{}, noon, 0.5)
	require.True(t, final)
	require.Equal(t, MaxAttempts, len(delays)+1)

	for name, c := range map[string]struct {
		o     AttemptResult
		want  time.Duration
		final bool
	}{
		"longer retry-after":  {AttemptResult{RetryAfter: time.Hour}, time.Hour, false},
		"shorter retry-after": {AttemptResult{RetryAfter: time.Second}, 5 * time.Second, false},
		"absurd retry-after":  {AttemptResult{RetryAfter: 1000 * time.Hour}, 24 * time.Hour, false},
		"abort":               {AttemptResult{Abort: true}, 0, true},
	} {
		at, final := nextTry(1, c.o, noon, 0.5)
		require.Equal(t, c.final, final, name)
		if !final {
			require.WithinDuration(t, noon.Add(c.want), at, time.Millisecond, name)
		}
	}
}

func TestNextTryProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxAttempts-1).Draw(t, "attempts")
		j := rapid.Float64Range(0, 0.999999).Draw(t, "jitter")
		after := time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "retry after"))
		at, final := nextTry(n, AttemptResult{RetryAfter: after}, noon, j)
		require.False(t, final)
		d := at.Sub(noon)
		require.GreaterOrEqual(t, d, delays[n-1]*9/10-1)
		require.LessOrEqual(t, d, max(delays[n-1]*11/10+1, maxRetryAfter))
	})
}

func TestBreakerOpensProbesAndCloses(t *testing.T) {
	t.Parallel()
	var b Breaker
	var change Change
	for i := range Threshold - 1 {
		b, change = b.Observe(AttemptResult{}, noon, 0.5)
		require.Equal(t, Unchanged, change, i)
		require.Equal(t, 8, b.Slots(8, 0, noon))
	}
	b, change = b.Observe(AttemptResult{}, noon, 0.5)
	require.Equal(t, Opened, change)
	require.True(t, b.Open)
	require.Equal(t, noon.Add(10*time.Second), b.ProbeAt)
	require.Zero(t, b.Slots(8, 0, noon.Add(9*time.Second)))
	require.Equal(t, 1, b.Slots(8, 0, b.ProbeAt), "one probe")
	require.Zero(t, b.Slots(8, 1, b.ProbeAt), "and only one at a time")

	late, change := b.Observe(AttemptResult{}, noon.Add(time.Second), 0.5)
	require.Equal(t, Unchanged, change)
	require.Equal(t, b.ProbeAt, late.ProbeAt, "deliveries under way when it opened do not delay the probe")

	at := b.ProbeAt
	for _, want := range []time.Duration{20, 40, 80, 160, 300, 300} {
		b, change = b.Observe(AttemptResult{}, at, 0.5)
		require.Equal(t, Unchanged, change)
		require.Equal(t, at.Add(want*time.Second), b.ProbeAt)
		at = b.ProbeAt
	}
	b, change = b.Observe(AttemptResult{Succeeded: true}, at, 0.5)
	require.Equal(t, Closed, change)
	require.Equal(t, Breaker{}, b)

	b, _ = Breaker{Failures: Threshold - 1}.Observe(AttemptResult{Succeeded: true}, noon, 0.5)
	require.Zero(t, b.Failures, "only consecutive failures count")

	b, _ = Breaker{Failures: Threshold - 1}.Observe(AttemptResult{RetryAfter: time.Hour}, noon, 0.5)
	require.Equal(t, noon.Add(time.Hour), b.ProbeAt, "Retry-After delays the probe")
}

func TestBreakerSlotsNeverExceedTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, now, underWay := Breaker{}, noon, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			n := b.Slots(8, underWay, now)
			require.GreaterOrEqual(t, n, 0)
			require.LessOrEqual(t, n+underWay, 8)
			if b.Open {
				require.LessOrEqual(t, n, 1)
			}
			underWay += n
			if underWay > 0 {
				underWay--
				wasOpen := b.Open
				ok := rapid.Bool().Draw(t, "ok")
				var change Change
				b, change = b.Observe(AttemptResult{Succeeded: ok}, now, rapid.Float64Range(0, 0.99).Draw(t, "jitter"))
				require.Equal(t, !wasOpen && b.Open, change == Opened)
				require.Equal(t, wasOpen && !b.Open, change == Closed)
				require.False(t, ok && b.Open)
			}
			if b.Open {
				require.LessOrEqual(t, b.ProbeAt.Sub(now), maxBackoff*11/10)
			}
		}
	})
}

func newRing(t *testing.T) *keyring.Keyring {
	t.Helper()
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	return ring
}

// The library of the Standard Webhooks project verifies our signatures with every secret of a rotation, and rejects
// altered requests.
func TestSignVerifiesWithTheStandardWebhooksLibrary(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	oldText, oldRow, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	newText, newRow, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, newText)
	require.NotContains(t, string(newRow.Sealed), newText)
	secrets, err := openSecrets(ring, "whe_1", []models.WebhookSecret{newRow, oldRow})
	require.NoError(t, err)
	_, err = openSecrets(ring, "whe_2", []models.WebhookSecret{newRow})
	require.Error(t, err, "a secret is bound to its endpoint")

	body, now := []byte(`{"type":"webhook.test","timestamp":"2026-03-01T12:00:00.000Z","data":{}}`), time.Now()
	header := http.Header{}
	header.Set(headerID, "evt_1")
	header.Set(headerTimestamp, fmt.Sprint(now.Unix()))
	header.Set(headerSignature, sign(secrets, "evt_1", now, body))
	for _, text := range []string{oldText, newText} {
		wh, err := standardwebhooks.NewWebhook(text)
		require.NoError(t, err)
		require.NoError(t, wh.Verify(body, header))
		require.Error(t, wh.Verify([]byte(strings.Replace(string(body), "test", "tset", 1)), header))
		for _, name := range []string{headerID, headerTimestamp} {
			changed := header.Clone()
			changed.Set(name, strings.Replace(header.Get(name), "1", "2", 1))
			require.Error(t, wh.Verify(body, changed), name)
		}
		changed := header.Clone()
		changed.Set(headerSignature, strings.ToLower(header.Get(headerSignature)))
		require.Error(t, wh.Verify(body, changed))
	}
	stranger, _, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	wh, err := standardwebhooks.NewWebhook(stranger)
	require.NoError(t, err)
	require.Error(t, wh.Verify(body, header))
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "0": 0, "-5": 0, "soon": 0, "1.5": 0, "99999999999999999999": 0,
		noon.Add(time.Minute).Format(http.TimeFormat): time.Minute, noon.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		require.Equal(t, want, retryAfter(v, noon), "%q", v)
	}
}
