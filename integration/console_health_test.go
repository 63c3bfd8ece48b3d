package integration_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// line returns the line of a part on the health page.
func line(t testing.TB, page visit, part string) string {
	t.Helper()
	require.Equal(t, 200, page.status, page.body)
	for row := range strings.SplitSeq(page.body, "<tr>") {
		if strings.Contains(row, part) && strings.Contains(row, `data-label="State"`) {
			return row
		}
	}
	t.Fatalf("the health page has no line of %s", part)
	return ""
}

func TestConsoleHealthFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(t *testing.T, w world)
		part   string
		want   []string
	}{
		"a failing endpoint": {func(t *testing.T, w world) {
			w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://receiver.example/hook"}).is(201)
			execSQL(t, "update webhook_endpoints set failing_since = now() - interval '2 hours' where environment_id = '"+w.ID+"'")
		}, "Webhook endpoints", []string{`<span class="tag bad">failing</span>`, "2 h 00 min ago", "5 min", "Correct the receiver", "/webhooks"}},
		"a late timer": {func(t *testing.T, w world) {
			_, _, version := w.draft(t, allowing)
			w.Admin.patch(t, environmentPath, object{"second_approver_required": true}).is(200)
			change := w.Server.post(t, version+"/activate", nil).is(202).string("id")
			// The timer is the run's, which takes its time from the row when it starts: one that started later would expire the change at once.
			eventually(t, func() bool {
				_, err := shared.Temporal.DescribeWorkflow(t.Context(), workflows.ChangeID(change), "")
				return err == nil
			}, "the start of the change's workflow")
			w.exec(t, "update changes set created_at = now() - interval '2 hours', expires_at = now() - interval '1 hour' where environment_id = '"+w.ID+"'")
		}, "Timers", []string{`<span class="tag bad">late</span>`, "1 h 00 min ago", "10 min"}},
		"a key that cannot sign": {func(t *testing.T, w world) {
			execSQL(t, "update signing_keys set sealed = sealed || '\\x00' where environment_id = '"+w.ID+"'")
		}, "Signing key", []string{`<span class="tag bad">cannot sign</span>`, "Every allow that needs a proof fails.", `data-label="Limit">–<`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			v := w.signedIn(t, models.RoleOperator)
			health := "/console/" + w.ID + "/health"
			require.Contains(t, line(t, v.get(health), c.part), `<span class="tag good">ok</span>`)
			c.breaks(t, w)
			page := v.get(health)
			for _, text := range c.want {
				require.Contains(t, line(t, page, c.part), text)
			}
			require.Regexp(t, `\d problems? needs? attention\.`, page.body)
			require.NotContains(t, page.body, "Everything is within its limits.")
			require.Regexp(t, `>Health<span data-live="count-h"><span class="count alarm">[1-9]`, v.get("/console/"+w.ID+"/policies").body, "each page shows the number")
			require.NotContains(t, w.signedIn(t, models.RoleReviewer).get("/console/"+w.ID+"/reviews").body, "count alarm")
		})
	}
}
