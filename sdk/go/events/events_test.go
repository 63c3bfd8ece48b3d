package events

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// published are the example of every type that the contract publishes, by type.
func published(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("testdata/examples.gen.json")
	require.NoError(t, err)
	var out map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &out))
	require.Greater(t, len(out), 40)
	return out
}

func TestParseReturnsTheTypeOfEveryPublishedEvent(t *testing.T) {
	t.Parallel()
	for name, data := range published(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payload, err := Parse(name, data)
			require.NoError(t, err)
			require.IsNotType(t, &Unknown{}, payload)
			require.Equal(t, name, payload.EventType())
			again, err := json.Marshal(payload)
			require.NoError(t, err)
			require.JSONEq(t, strings.ReplaceAll(string(data), `:00.000Z"`, `:00Z"`), string(again), "nothing of the example is lost")
		})
	}
}

func TestParseReadsThePayloadOfAnApproval(t *testing.T) {
	t.Parallel()
	payload, err := Parse(TypeHoldApproved, published(t)[TypeHoldApproved])
	require.NoError(t, err)
	approved, ok := payload.(*HoldApproved)
	require.True(t, ok)
	require.Equal(t, "azn_01jqx3m2q6f7nbyk0c4m7t9wze", approved.ChildAuthorization)
	require.Equal(t, "payment.release", approved.Action)
}

func TestParseAcceptsWhatALaterServiceAdds(t *testing.T) {
	t.Parallel()
	payload, err := Parse("payment.forgotten", []byte(`{"environment":"env_1","amount":3}`))
	require.NoError(t, err)
	require.Equal(t, &Unknown{Type: "payment.forgotten", Data: json.RawMessage(`{"environment":"env_1","amount":3}`)}, payload)
	require.Equal(t, "payment.forgotten", payload.EventType())

	payload, err = Parse(TypeSubjectCreated, []byte(`{"environment":"env_1","subject":"ada","tier":"gold"}`))
	require.NoError(t, err)
	require.Equal(t, &SubjectCreated{Environment: "env_1", Subject: "ada"}, payload)
}

func TestParseRefusesDataThatIsNoPayload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, data string }{
		"not JSON":           {TypeChallengeFailed, `{`},
		"empty":              {TypeChallengeFailed, ``},
		"a list":             {TypeChallengeFailed, `[]`},
		"null":               {TypeChallengeFailed, `null`},
		"a number as text":   {TypeChallengeFailed, `{"environment":"env_1","failures":"5"}`},
		"not a time":         {TypeChallengeExpired, `{"environment":"env_1","expires_at":"tomorrow"}`},
		"of an unknown type": {"payment.forgotten", `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(c.kind, []byte(c.data))
			require.ErrorContains(t, err, "events: "+c.kind+": the data")
		})
	}
}
