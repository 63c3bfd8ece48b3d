package show

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestStampWords(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{
		-time.Second:              "1 s ago",
		0:                         "in 0 s",
		59 * time.Minute:          "in 59 min",
		5*time.Hour + time.Minute: "in 5 h 01 min",
		71*time.Hour + 59*time.Minute + 59*time.Second: "in 71 h",
		-10 * 24 * time.Hour:                           "10 days ago",
	} {
		require.Equal(t, want, Stamp{noon.Add(after), noon}.Words())
	}
	require.Equal(t, "hour", Urgency(Stamp{noon.Add(59 * time.Minute), noon}))
	require.Equal(t, "day", Urgency(Stamp{noon.Add(time.Hour), noon}))
	require.Equal(t, "none", Urgency(Stamp{noon.Add(24 * time.Hour), noon}))
	require.Nil(t, Stamps{noon}.Text("yesterday"))
	require.Nil(t, Stamps{noon}.Read(nil))
}

func TestActorOfNamesPersonsAndKinds(t *testing.T) {
	t.Parallel()
	names := map[string]string{"prs_1": "Ann"}
	for raw, want := range map[string]Actor{
		"person:prs_1":       {"person", "Ann", "person:prs_1"},
		"person:prs_2":       {"person", "prs_2", "person:prs_2"},
		"credential:crd_1":   {"API key", "crd_1", "credential:crd_1"},
		"workflow:hold/1":    {"workflow", "hold/1", "workflow:hold/1"},
		"cli:person revoke":  {"command", "person revoke", "cli:person revoke"},
		"passkey:psk_1":      {"other", "passkey:psk_1", "passkey:psk_1"},
		"client_token:ctk_1": {"browser", "ctk_1", "client_token:ctk_1"},
	} {
		require.Equal(t, want, ActorOf(raw, names))
	}
}
