package integration_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

func TestConsoleStartsAndClosesEvaluations(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, key := w.action(t, "shadow", allowing)
	for range 3 {
		require.Equal(t, 200, w.Server.relyingParty().Authorize(t, w.subject(t), key).Status)
	}
	v := w.signedIn(t, models.RoleOperator)
	at := "/console/" + w.ID + "/evaluations"
	require.Contains(t, v.get(at+"/new").body, key)
	form := url.Values{"name": {"Pilot"}, "starts_at": {"2026-01-02T00:00"}, "ends_at": {"2026-01-01T00:00"}, "success_criteria.min_shadow_decisions": {"30"}}
	require.Contains(t, fault(t, v.submit(at+"/new", form), "action_keys"), "Actions is missing.")
	form.Set("action_keys", key)
	require.Contains(t, fault(t, v.submit(at+"/new", form), "ends_at"), "Ends (UTC) must be after starts_at.")
	form.Set("success_criteria.min_shadow_decisions", "0")
	form.Del("ends_at")
	require.Contains(t, fault(t, v.submit(at+"/new", form), "success_criteria-min_shadow_decisions"), "1")
	form.Set("success_criteria.min_shadow_decisions", "30")
	made := v.submit(at+"/new", form)
	require.Equal(t, http.StatusSeeOther, made.status, made.body)
	page := v.get(made.location)
	for _, text := range []string{"Are there enough decisions?", "3 of 30", "power-forecast", "±56.6 points, then ±17.9", "min"} {
		require.Contains(t, page.body, text)
	}
	require.Equal(t, http.StatusBadRequest, v.submit(made.location+"/close", nil).status)
	require.Equal(t, http.StatusSeeOther, v.submit(made.location+"/close", sure()).status)
	require.Contains(t, v.get(made.location).body, ">closed<")
	require.Equal(t, http.StatusConflict, v.submit(made.location+"/close", sure()).status)
	w.recorded(t, v, "evaluation.created")
	w.recorded(t, v, "evaluation.closed")
}

// The audit log is in the order of its numbers, over pages, and shows each time in full.
func TestConsoleAuditIsInTheOrderOfItsNumbers(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for range 120 {
		w.subject(t)
	}
	v := w.signedIn(t, models.RoleAuditor)
	at := "/console/" + w.ID + "/audit"
	var page visit
	eventually(t, func() bool {
		page = v.get(at)
		return regexp.MustCompile(`rel="next"`).MatchString(page.body)
	}, "the log is sealed")
	require.Regexp(t, `<td class="when"><time datetime="[^"]+">\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC</time></td>`, page.body, "each time once")
	last := 1 << 30
	for more := true; more; {
		for _, found := range regexp.MustCompile(`<tr><td class="number"[^>]*>(\d+)<`).FindAllStringSubmatch(page.body, -1) {
			n, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			require.Less(t, n, last)
			last = n
		}
		next := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page.body)
		if more = next != nil; more {
			page = v.get(regexp.MustCompile(`&amp;`).ReplaceAllString(next[1], "&"))
			require.Equal(t, 200, page.status)
		}
	}
	require.Equal(t, 1, last)
	require.Equal(t, http.StatusBadRequest, v.get(at+"?cursor=MTIzLjQ").status)
}
