package integration_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/web/console"
)

// Every list, export and search, and the work of the background, reads by index, on tables that are too large to be read whole: no statement
// reads a large table whole, none sorts more rows than it returns, and none reads many rows that it does not use.
func TestStatementsReadByIndex(t *testing.T) {
	t.Parallel()
	onePostgres(t, "Citus shows its own plan, with those of the shards inside")
	p := newTraced(t)
	var worlds []world
	var endpoints []string
	for range seededEnvironments {
		w := p.world(t)
		worlds = append(worlds, w)
		endpoints = append(endpoints, w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/hook", "events": []string{"webhook.test"}}).is(201).string("id"))
	}
	w := worlds[0]
	list := strings.TrimPrefix(w.listOf(t, object{"name": "markets", "kind": "country"}, "DE"), "/api/v1/lists/")
	x := p.records(t, w)
	v := p.visitor(t, w)
	seed(t, p, worlds, endpoints)
	x.endpoint, x.person, x.list = endpoints[0], v.person, list

	e := newExplainer(t, p.DatabaseURL)
	for _, path := range slices.Concat(apiLists(t, x), consoleLists(w, x)) {
		p.take()
		if strings.HasPrefix(path, "/console/") {
			require.Contains(t, []int{http.StatusOK, http.StatusSeeOther}, v.get(path).status, path)
		} else if next := w.listed(t, path); next != "" {
			w.listed(t, next)
		}
		e.examine(t, path, p.take())
	}
	for _, work := range p.work(t, worlds) {
		p.take()
		work.do(t)
		e.examine(t, work.name, p.take())
	}
	require.Empty(t, e.faults, strings.Join(e.faults, "\n\n"))
}

// listed reads a page of a list and returns the path of the next one. The seeded rows are copies, which may not suit the contract.
func (w world) listed(t *testing.T, path string) (next string) {
	t.Helper()
	page, err := w.Admin.send(http.MethodGet, path, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, page.status, "%s: %s", path, page.body)
	if link := nextPage.FindStringSubmatch(page.header.Get("Link")); link != nil {
		return link[1]
	}
	return ""
}

// records writes one row of each table that is seeded, and returns the ids of records of the subject with the most rows.
func (p *traced) records(t *testing.T, w world) consoleRecords {
	t.Helper()
	id, key := w.action(t, "enforce", holding)
	_, open := w.action(t, "enforce", allowing)
	_, challenged := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	x := consoleRecords{action: id, subject: "user-0"}
	x.held = w.authorize(t, subject, key, "hold").string("id")
	w.authorize(t, subject, open, "allow")
	w.authorize(t, subject, challenged, "challenge")
	w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": challenging}).is(201)
	x.team = w.team(t, "finance")
	x.evaluation = w.Server.post(t, "/api/v1/evaluations", object{"name": "Pilot", "action_keys": []string{key}}).is(201).string("id")
	w.Admin.patch(t, environmentPath, object{"second_approver_required": true}).is(200)
	x.change = w.Server.patch(t, "/api/v1/actions/"+id, object{"mode": "shadow"}).is(http.StatusAccepted).string("id")
	x.key = w.Admin.get(t, "/api/v1/credentials").is(200).list()[0]["id"].(string)
	return x
}

// firstRows are the rows that only a worker or an enrollment writes. @environment and @endpoint stand for the ids of the first world.
var firstRows = []string{
	`insert into enrollments select 'enr_1', tenant_id, environment_id, uid, 'ses_1', 'none', 'completed', false, 3, '{}', now(), now() from subjects where environment_id = @environment`,
	`insert into templates (id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version, data, created_at, updated_at)
		select 'tpl_1', tenant_id, environment_id, uid, 'keystroke', 'desktop', 0, 'retired', '1', '', now(), now() from subjects where environment_id = @environment`,
	`insert into passkeys (id, tenant_id, environment_id, subject_uid, credential_id, public_key, attestation_type, aaguid, transports, sign_count, user_verified,
		backup_eligible, backup_state, created_at) select 'pky_1', tenant_id, environment_id, uid, '1', '', 'none', '', '{}', 0, true, true, true, now() from subjects where environment_id = @environment`,
	`insert into audit_chain select environment_id, 1, id, '', '', now() from events where environment_id = @environment limit 1`,
	`insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at) values ('del_1', @environment, @endpoint, 'evt_1', 'hold.opened', 'succeeded', now(), now())`,
	`insert into webhook_attempts values ('att_1', 'del_1', @endpoint, 'evt_1', 'hold.opened', 1, now(), 200, 3, null, null, true, @environment)`,
	`insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at) select authorization_id, environment_id, 'cli:test', 'cli:test', 'approve', now() from holds where environment_id = @environment`,
}

// apiLists are the paths of every list of the API: without a filter, and with each filter by itself.
func apiLists(t *testing.T, x consoleRecords) (paths []string) {
	t.Helper()
	now := time.Now().UTC()
	samples := map[string]string{
		"key": "payment.seeded_1", "subject": x.subject, "action": "payment.seeded_1", "parent": x.held, "q": "user-0", "event": x.held, "type": "hold.*",
		"kind": "subject.created", "actor": seldomActor, "assigned_to": "person:" + x.held,
		"since": now.Add(-6 * time.Hour).Format(time.RFC3339), "until": now.Add(-time.Hour).Format(time.RFC3339), "value": "DE",
		"opened_before": now.Add(-time.Hour).Format(time.RFC3339), "due_before": now.Add(70 * time.Hour).Format(time.RFC3339),
	}
	inPath := strings.NewReplacer("{action_id}", x.action, "{subject_id}", x.subject, "{endpoint_id}", x.endpoint, "{list_id}", x.list)
	for path, params := range listParameters(t) {
		path = inPath.Replace(path)
		require.NotContains(t, path, "{", "a list of an unknown kind of record")
		paths = append(paths, path+"?limit=10")
		for _, p := range params {
			values := p.Schema.Enum
			if len(values) == 0 {
				require.Contains(t, samples, p.Name, "%s has a filter without a sample", path)
				values = []string{samples[p.Name]}
			}
			for _, value := range values {
				paths = append(paths, path+"?limit=10&"+p.Name+"="+url.QueryEscape(value))
			}
		}
	}
	sort.Strings(paths)
	return paths
}

// listParameter is a filter of a list.
type listParameter struct {
	Name   string `json:"name"`
	In     string `json:"in"`
	Ref    string `json:"$ref"`
	Schema struct {
		Enum []string `json:"enum"`
		Ref  string   `json:"$ref"`
	} `json:"schema"`
}

// listParameters returns the filters of every list of the contract, by path. A list is an operation with a cursor.
func listParameters(t *testing.T) map[string][]listParameter {
	t.Helper()
	var doc struct {
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components struct {
			Parameters map[string]listParameter `json:"parameters"`
			Schemas    map[string]json.RawMessage
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(openapi.Document(), &doc))
	lists := map[string][]listParameter{}
	for path, operations := range doc.Paths {
		var get struct {
			Parameters []listParameter `json:"parameters"`
		}
		if raw, ok := operations["get"]; ok {
			require.NoError(t, json.Unmarshal(raw, &get))
		}
		var filters []listParameter
		paged := false
		for _, p := range get.Parameters {
			if p.Ref != "" {
				p = doc.Components.Parameters[lastPart(p.Ref)]
			}
			if p.Schema.Ref != "" {
				require.NoError(t, json.Unmarshal(doc.Components.Schemas[lastPart(p.Schema.Ref)], &p.Schema))
			}
			if p.Name == "cursor" {
				paged = true
			} else if p.In == "query" && p.Name != "limit" {
				filters = append(filters, p)
			}
		}
		if paged {
			lists[path] = filters
		}
	}
	return lists
}

func lastPart(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// consoleLists are the paths of the console's pages and exports, with their filters, and its searches.
func consoleLists(w world, x consoleRecords) (paths []string) {
	for _, r := range console.Routes() {
		if r.Method == http.MethodGet && strings.Contains(r.Path, ":environment/") && !strings.HasSuffix(r.Path, "/stream") {
			paths = append(paths, w.path(r, x))
		}
	}
	at := "/console/" + w.ID
	since := "since=" + time.Now().UTC().Add(-6*time.Hour).Format("2006-01-02T15:04")
	for list, filters := range map[string][]string{
		"decisions": {
			"decision=hold", "mode=shadow", "review=pending", "review=approved", "review=expired", "q=user-0", "action=payment.seeded_1", since, "decision=deny&" + since,
		},
		"reviews": {
			"status=approved", "status=rejected", "status=expired", "sort=opened", "risk=high", "action=payment.seeded_1", "mine=1", "q=user-0",
		},
		"audit": {"type=hold.opened", "actor=" + seldomActor, since, "type=hold.opened&" + since},
	} {
		for _, f := range filters {
			paths = append(paths, at+"/"+list+"?"+f, at+"/export/"+list+"?format=jsonl&"+f)
		}
	}
	for _, status := range []string{"pending", "succeeded", "failed"} {
		paths = append(paths, at+"/webhooks/"+x.endpoint+"?status="+status, at+"/export/webhooks/"+x.endpoint+"?format=csv&status="+status)
	}
	for _, text := range []string{"user-1", "azn_0123456789", "payment", "Staff", "1001"} {
		paths = append(paths, at+"/search?typed=1&q="+text)
	}
	return paths
}
