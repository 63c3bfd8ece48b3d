package integration_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/subject/research"
)

// A frame's vector is stored for research if the page, the subject, the environment and the deployment agree (in these tests the
// deployment does), and deleted when the subject withdraws consent.
func TestResearchRequiresEveryConsent(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	willing, other := w.subject(t), w.subject(t)
	sessions := map[string]string{}
	for _, s := range []string{willing, other} {
		sessions[s] = w.Server.post(t, "/api/v1/sessions", object{"subject": s}).is(201).string("id")
	}
	who, start := typist(t.Name()), time.Now().Add(-10*time.Minute)
	n := 0
	send := func(c caller, subject string, optin any) {
		frame := evidence(who, "score", start, n)
		frame["frame_id"] = "frame-" + strconv.Itoa(n)
		n++
		if optin != nil {
			frame["research_optin"] = optin
		}
		a := c.post(t, "/api/v1/sessions/"+sessions[subject]+"/evidence", frame).is(200)
		require.Equal(t, "accepted", a.string("status"), "response: %s", a.body)
	}
	kept := func() int { return count(t, "select count(*) from research_vectors where environment_id = $1", w.ID) }
	consent := func(subject string, yes bool) {
		w.Server.post(t, "/api/v1/subjects/"+subject+"/research-consent", object{"consented": yes}).is(200)
	}

	consent(willing, true)
	send(w.Server, willing, true)
	require.Zero(t, kept(), "research is not enabled for the environment")
	keeper := research.New(shared.Store, shared.keys, false)
	_, err := keeper.SetEnabled(t.Context(), w.scope(), true, false, time.Now(), "cli:tenant research")
	require.NoError(t, err)
	send(w.Server, willing, nil)
	send(w.Server, willing, false)
	require.Zero(t, kept(), "the page did not opt in")
	send(w.Server, other, true)
	require.Zero(t, kept(), "the subject did not consent")
	send(w.Server, willing, true)
	require.Equal(t, 1, kept())
	send(w.Server.with("X-Service-Research-Optin", "true"), willing, nil)
	require.Equal(t, 2, kept(), "by the header")
	consent(other, true)
	send(w.Server, other, true)
	require.Equal(t, 3, kept())

	exported := w.Server.post(t, "/api/v1/subjects/"+willing+"/export", nil).is(200)
	require.Len(t, exported.value("data.research_vectors"), 2)
	consent(willing, false)
	require.Equal(t, 1, kept(), "the vectors of the other subject remain")
	send(w.Server, willing, true)
	require.Equal(t, 1, kept())
	w.Server.delete(t, "/api/v1/subjects/"+other).is(202)
	eventually(t, func() bool { return kept() == 0 }, "erasure removes them")
	require.Zero(t, count(t, "select count(*) from research_links where environment_id = $1", w.ID))
}
