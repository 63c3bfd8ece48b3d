package integration_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/workflows"
)

// erasureTimeout bounds an erasure, including its grace period of 30 s.
const erasureTimeout = 2 * time.Minute

// rowsWith counts, by table, the rows that contain the text in any column, including bytes and JSON.
func rowsWith(t *testing.T, text string) map[string]int {
	t.Helper()
	pool := shared.Core.Store.Pool()
	rows, err := pool.Query(t.Context(), "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition")
	require.NoError(t, err)
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	found := map[string]int{}
	for _, table := range tables {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), "select count(*) from "+table+" x where strpos(x::text, $1) > 0 or strpos(x::text, $2) > 0",
			text, hex.EncodeToString([]byte(text))).Scan(&n))
		if n > 0 {
			found[table] = n
		}
	}
	return found
}

// historiesOf returns the workflow histories of the environment, as Temporal stores them and decrypted.
func historiesOf(t *testing.T, environment string) (runs int, text string) {
	t.Helper()
	codec := workflows.NewCodec(shared.keys)
	var all strings.Builder
	var page []byte
	for {
		list, err := shared.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: shared.namespace, Query: fmt.Sprintf("CountersignEnvironment = '%s'", environment), NextPageToken: page,
		})
		require.NoError(t, err)
		for _, run := range list.GetExecutions() {
			runs++
			fmt.Fprintln(&all, run)
			for it := shared.Temporal.GetWorkflowHistory(t.Context(), run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId(), false,
				enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
				e, err := it.Next()
				if err != nil {
					break // removed in the meantime
				}
				all.Write(plainEvent(t, codec, e))
			}
		}
		if page = list.GetNextPageToken(); len(page) == 0 {
			return runs, all.String()
		}
	}
}

// plainEvent returns an event with its payloads both as stored and decrypted.
func plainEvent(t *testing.T, codec *workflows.Codec, e *historypb.HistoryEvent) []byte {
	t.Helper()
	raw, err := proto.Marshal(e)
	require.NoError(t, err)
	require.NoError(t, proxy.VisitPayloads(t.Context(), e, proxy.VisitPayloadsOptions{SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, p []*commonpb.Payload) ([]*commonpb.Payload, error) {
			opened, err := codec.Decode(p)
			for _, o := range opened {
				raw = append(raw, o.GetData()...)
			}
			return p, err
		}}))
	return raw
}

// A subject that has used every feature is erased. Afterwards no row and no workflow history contains it. Histories never did:
// payloads carry ids, digests and decisions.
func TestErasureLeavesNoTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the erasure's grace period of 30 s")
	}
	t.Parallel()
	w := newSandbox(t)
	subject := w.enrolled(t, typist("canary"))
	path := "/api/v1/subjects/" + subject
	var uid string
	require.NoError(t, shared.Core.Store.Pool().QueryRow(t.Context(), "select uid from subjects where environment_id = $1 and external_id = $2",
		w.ID, subject).Scan(&uid))

	w.Server.post(t, path+"/research-consent", object{"consented": true}).is(200)
	w.session(t, subject, "score", typist("canary"), 2)
	_, held := w.action(t, "enforce", with(holding, object{"freshness_max_ms": 1000, "approvals_required": 2}))
	hold := w.authorize(t, subject, held, "hold").string("id")
	w.Server.post(t, "/api/v1/authorizations/"+hold+"/review", object{"resolution": "approve", "note": "spoke to " + subject}).is(202)
	_, explicit := w.action(t, "enforce", object{"coverage_min": "none", "explicit_approval_required": true})
	completed := w.authorize(t, subject, explicit, "challenge").string("challenge.id")
	w.Server.post(t, "/api/v1/challenges/"+completed+"/complete", object{"method": "sandbox_confirm"}).is(200)
	w.authorize(t, subject, explicit, "challenge")
	w.Server.post(t, "/enrol", withConsent(phraseTimings(subject, typist("canary")))).is(200)
	w.Server.post(t, path+"/passkeys/registration-grants", nil).is(201)
	w.Server.post(t, path+"/recovery", object{"anchor": "none"}).is(201)
	w.Server.post(t, path+"/export", nil).is(200)
	watched := w.listOf(t, object{"name": "watched", "kind": "text"}, strings.ToUpper(subject), subject+"x")
	personal := w.listOf(t, object{"name": "personal", "kind": "text", "personal": true}, subject)
	eventually(t, func() bool { runs, _ := historiesOf(t, w.ID); return runs >= 4 }, "the workflow runs are listed")

	require.NotEmpty(t, rowsWith(t, subject), "the search finds the subject before the erasure")
	require.Greater(t, len(rowsWith(t, uid)), 8)
	_, histories := historiesOf(t, w.ID)
	require.Contains(t, histories, completed, "the search reads decrypted payloads")
	require.NotContains(t, histories, subject)
	require.NotContains(t, histories, uid)

	w.Server.post(t, watched+"/entries", object{"remove": []object{{"value": subject + "x"}}}).is(200)
	w.Server.delete(t, path).is(202)
	w.Server.get(t, path).is(404)
	require.Eventually(t, func() bool { return len(rowsWith(t, uid)) == 0 && len(rowsWith(t, subject)) == 0 }, erasureTimeout, time.Second,
		"rows: %v %v", rowsWith(t, uid), rowsWith(t, subject))
	for _, list := range []string{watched, personal} {
		require.Equal(t, 0.0, w.Server.get(t, list).is(200).value("entries"), "entries with the id of a subject go with the subject")
	}
	eventually(t, func() bool {
		_, histories := historiesOf(t, w.ID)
		return !strings.Contains(histories, completed)
	}, "the workflow history is removed")
}
