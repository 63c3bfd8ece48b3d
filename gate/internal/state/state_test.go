package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/gate/internal/state"
)

func TestStateIsForOneRequest(t *testing.T) {
	t.Parallel()
	keys := state.Keys{[]byte(strings.Repeat("a", 32)), []byte(strings.Repeat("b", 32))}
	now := time.Unix(1_800_000_000, 0)
	b := state.Binding{Principal: "issuer alice", Route: "release", Digest: "sha256:1"}
	text := keys.Seal("azn_1", now.Add(time.Minute), b)

	id, err := keys.Open(text, now, b)
	require.NoError(t, err)
	require.Equal(t, "azn_1", id)
	old := keys[1:].Seal("azn_2", now.Add(time.Minute), b)
	id, err = keys.Open(old, now, b)
	require.NoError(t, err, "of the key before the rotation")
	require.Equal(t, "azn_2", id)

	for name, c := range map[string]struct {
		text string
		at   time.Time
		b    state.Binding
	}{
		"expired":          {text, now.Add(time.Minute), b},
		"other principal":  {text, now, state.Binding{Principal: "issuer bob", Route: b.Route, Digest: b.Digest}},
		"other route":      {text, now, state.Binding{Principal: b.Principal, Route: "pay", Digest: b.Digest}},
		"other values":     {text, now, state.Binding{Principal: b.Principal, Route: b.Route, Digest: "sha256:2"}},
		"shifted parts":    {text, now, state.Binding{Principal: b.Principal + b.Route, Digest: b.Digest}},
		"other key":        {state.Keys{[]byte(strings.Repeat("c", 32))}.Seal("azn_1", now.Add(time.Minute), b), now, b},
		"empty":            {"", now, b},
		"no MAC":           {strings.Split(text, ".")[0] + ".", now, b},
		"of another use":   {keys.Sign("answer", "azn_1.1900000000"), now, b},
		"longer life":      {"YXpuXzEuMTkwMDAwMDAwMA." + strings.Split(text, ".")[1], now, b},
		"lax base64":       {text + "=", now, b},
		"trailing newline": {text + "\n", now, b},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := keys.Open(c.text, c.at, c.b)
			require.ErrorIs(t, err, state.ErrInvalid)
		})
	}
}
