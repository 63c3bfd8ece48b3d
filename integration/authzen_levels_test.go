package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The policy of the fixture in the certification scenario for the Authorization API 1.0, as an ordinary configuration.
const (
	isAdmin    = `(has(context.subject_properties) && has(context.subject_properties.role) && context.subject_properties.role == "admin")`
	isArchived = `(has(context.resource_properties) && has(context.resource_properties.status) && context.resource_properties.status == "archived")`
	isSoft     = `(has(context.action_properties) && has(context.action_properties.soft) && context.action_properties.soft)`
)

// forbids is a rule that denies the requests which its condition matches.
func forbids(name, when string) object {
	return object{"name": name, "when": when, "requirements": object{"deny_on": []string{"rule_matched"}}, "reason": "The fixture forbids it."}
}

// guarded creates an action in mode enforce that allows everything but what its rules forbid.
func (w world) guarded(t *testing.T, key, kind string, properties object, rules ...object) {
	t.Helper()
	requirements := object{"coverage_min": "none"}
	if len(rules) > 0 {
		requirements["rules"] = rules
	}
	made := w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": key, "consequence": "Nothing.", "resource_type": kind, "allowed_audiences": []string{audience},
		"context_schema": object{"type": "object", "properties": properties},
	}).is(201)
	path := "/api/v1/actions/" + made.string("id")
	w.Server.post(t, path+"/policy-versions", object{"requirements": requirements}).is(201)
	w.Server.post(t, path+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, path, object{"mode": "enforce"}).is(200)
}

func having(name, kind string) object {
	return object{"type": "object", "properties": object{name: object{"type": kind}}}
}

// certified is a sandbox with the fixture.
func certified(t *testing.T) caller {
	t.Helper()
	w := newSandbox(t)
	for _, id := range []string{"alice", "bob"} {
		w.Server.post(t, "/api/v1/subjects", object{"id": id}).is(201)
	}
	w.guarded(t, "read", "record", object{})
	w.guarded(t, "write", "record", object{"subject_properties": having("role", "string"), "resource_properties": having("status", "string")},
		forbids("bob_reads_only", `subject.id == "bob" && !`+isAdmin), forbids("archived_is_closed", isArchived+` && !`+isAdmin))
	w.guarded(t, "delete", "record", object{"action_properties": having("soft", "boolean")}, forbids("soft_only", `!`+isSoft))
	return w.Server
}

// The entities of the fixture as the scenario sends them.
const (
	alice, bob = `{"type":"user","id":"alice"}`, `{"type":"user","id":"bob"}`
	bobAdmin   = `{"type":"user","id":"bob","properties":{"role":"admin"}}`
	record1    = `{"type":"record","id":"record-1"}`
	record2    = `{"type":"record","id":"record-2"}`
	active1    = `{"type":"record","id":"record-1","properties":{"status":"active"}}`
	archived2  = `{"type":"record","id":"record-2","properties":{"status":"archived"}}`
	read       = `{"name":"read"}`
	write      = `{"name":"write"}`
)

func tuple(subject, action, resource string) string {
	return fmt.Sprintf(`{"subject":%s,"action":%s,"resource":%s}`, subject, action, resource)
}

func removeBrace(s string) string { return s[:len(s)-1] }

// accessCase is one evaluation of the certification scenario and its decision.
type accessCase struct {
	body string
	want bool
}

// basicCases are the evaluations of the levels Basic Core and Basic Properties.
func basicCases() map[string]accessCase {
	const context = `,"context":{"time":"2025-06-27T18:03-07:00","ip":"192.168.1.1"}}`
	return map[string]accessCase{
		"core/rule 1":              {tuple(alice, read, record1), true},
		"core/rule 2":              {tuple(alice, write, record1), true},
		"core/rule 3":              {tuple(bob, read, record1), true},
		"core/rule 4":              {tuple(bob, write, record1), false},
		"core/context":             {removeBrace(tuple(alice, read, record1)) + context, true},
		"core/context, rule 4":     {removeBrace(tuple(bob, write, record1)) + context, false},
		"core/unknown fields":      {removeBrace(tuple(alice, read, record1)) + `,"foo":"bar","futureField":{"nested":true}}`, true},
		"core/more properties":     {tuple(`{"type":"user","id":"alice","properties":{"department":"Sales","role":"manager"}}`, `{"name":"read","properties":{"method":"GET"}}`, `{"type":"record","id":"record-1","properties":{"status":"active","owner":"bob"}}`), true},
		"properties/rule 5":        {tuple(alice, write, archived2), false},
		"properties/rule 6":        {tuple(bobAdmin, write, archived2), true},
		"properties/rule 7":        {tuple(alice, `{"name":"delete","properties":{"soft":true}}`, record1), true},
		"properties/rule 8":        {tuple(alice, `{"name":"delete","properties":{"soft":false}}`, record1), false},
		"properties/rule 8, never": {tuple(alice, `{"name":"delete"}`, record1), false},
	}
}

func TestAccessBasicLevel(t *testing.T) {
	t.Parallel()
	pdp := certified(t)
	for name, c := range basicCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 { // the same request gets the same decision
				a := pdp.post(t, accessSingle, []byte(c.body)).is(200)
				require.Equal(t, c.want, a.value("decision"), "response: %s", a.body)
				require.Nil(t, a.value("context.error"), "response: %s", a.body)
			}
		})
	}
}

// accessBatchCase is one batch of the certification scenario and its decisions.
type accessBatchCase struct {
	body string
	want []bool
}

// batchCases are the batches of the levels Batch Core and Batch Properties.
func batchCases() map[string]accessBatchCase {
	return map[string]accessBatchCase{
		"core/list":              {`{"subject":` + alice + `,"action":` + read + `,"evaluations":[{"resource":` + record1 + `},{"resource":` + record2 + `}]}`, []bool{true, true}},
		"core/decisions":         {`{"subject":` + bob + `,"resource":` + record1 + `,"evaluations":[{"action":` + read + `},{"action":` + write + `}]}`, []bool{true, false}},
		"core/no defaults":       {`{"evaluations":[` + tuple(alice, read, record1) + `,` + tuple(bob, write, record1) + `]}`, []bool{true, false}},
		"core/context":           {`{"subject":` + alice + `,"action":` + read + `,"context":{"time":"2025-06-27T18:03-07:00"},"evaluations":[{"resource":` + record1 + `},{"resource":` + record2 + `,"context":{"time":"2025-06-27T19:00-07:00","source":"batch-override"}}]}`, []bool{true, true}},
		"core/an invalid one":    {`{"subject":` + alice + `,"action":` + read + `,"evaluations":[{"resource":` + record1 + `},{}]}`, []bool{true, false}},
		"properties/of resource": {`{"subject":` + alice + `,"action":` + write + `,"evaluations":[{"resource":` + active1 + `},{"resource":` + archived2 + `}]}`, []bool{true, false}},
		"properties/of subject":  {`{"action":` + write + `,"resource":` + archived2 + `,"evaluations":[{"subject":` + alice + `},{"subject":` + bobAdmin + `}]}`, []bool{false, true}},
		"properties/merging":     {`{"subject":` + alice + `,"action":` + write + `,"resource":{"type":"record"},"evaluations":[{"resource":{"id":"record-1","properties":{"status":"active"}}},{"resource":` + archived2 + `}]}`, []bool{true, false}},
	}
}

func TestAccessBatchLevel(t *testing.T) {
	t.Parallel()
	pdp := certified(t)
	for name, c := range batchCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := pdp.post(t, accessBatch, []byte(c.body))
			require.Equal(t, c.want, a.decisions(), "response: %s", a.body)
			require.Nil(t, a.value("decision"))
		})
	}
	for name, end := range map[string]string{"core/no list": `}`, "core/an empty list": `,"evaluations":[]}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := pdp.post(t, accessBatch, []byte(removeBrace(tuple(alice, read, record1))+end)).is(200)
			require.Equal(t, true, a.value("decision"), "response: %s", a.body)
		})
	}
}

// The users of the interop's todo application by their role.
const (
	rick   = "CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs"
	morty  = "CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs"
	summer = "CiRmZDI2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs"
	beth   = "CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs"
	jerry  = "CiRmZDQ2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs"
)

// todoApplication is a sandbox with the interop's todo application: administrators change everything, editors what they own, viewers
// nothing.
func todoApplication(t *testing.T) caller {
	t.Helper()
	w := newSandbox(t)
	for _, id := range []string{rick, morty, summer, beth, jerry} {
		w.Server.post(t, "/api/v1/subjects", object{"id": id}).is(201)
	}
	owns := func(id, email string) string {
		return `(subject.id == "` + id + `" && has(context.resource_properties) && has(context.resource_properties.ownerID) && context.resource_properties.ownerID == "` + email + `")`
	}
	owner := object{"resource_properties": having("ownerID", "string")}
	changes := forbids("not_theirs", `!(subject.id == "`+rick+`" || `+owns(morty, "morty@the-citadel.com")+` || `+owns(summer, "summer@the-smiths.com")+`)`)
	w.guarded(t, "can_read_user", "user", object{})
	w.guarded(t, "can_read_todos", "todo", object{})
	w.guarded(t, "can_create_todo", "todo", object{}, forbids("viewers", `!(subject.id in ["`+rick+`", "`+morty+`", "`+summer+`"])`))
	w.guarded(t, "can_update_todo", "todo", owner, changes)
	w.guarded(t, "can_delete_todo", "todo", owner, changes)
	return w.Server
}

func TestAccessTodoInterop(t *testing.T) {
	t.Parallel()
	pdp := todoApplication(t)
	single, batches := todoDecisions(t)
	for _, e := range single {
		a := pdp.post(t, accessSingle, []byte(e.body)).is(200)
		require.Equal(t, e.want, a.value("decision"), "request: %s, response: %s", e.body, a.body)
		require.Nil(t, a.value("context.error"))
	}
	for _, e := range batches {
		require.Equal(t, e.want, pdp.post(t, accessBatch, []byte(e.body)).decisions(), "request: %s", e.body)
	}
}

// todoDecisions returns the 40 requests and 3 batches of the interop's todo application.
func todoDecisions(t *testing.T) (single []accessCase, batches []accessBatchCase) {
	t.Helper()
	raw, err := os.ReadFile("testdata/authzen/todo-decisions.json")
	require.NoError(t, err)
	var table struct {
		Evaluation []struct {
			Request  json.RawMessage `json:"request"`
			Expected bool            `json:"expected"`
		} `json:"evaluation"`
		Evaluations []struct {
			Request  json.RawMessage `json:"request"`
			Expected []struct {
				Decision bool `json:"decision"`
			} `json:"expected"`
		} `json:"evaluations"`
	}
	require.NoError(t, json.Unmarshal(raw, &table))
	for _, e := range table.Evaluation {
		single = append(single, accessCase{string(e.Request), e.Expected})
	}
	for _, e := range table.Evaluations {
		b := accessBatchCase{body: string(e.Request)}
		for _, x := range e.Expected {
			b.want = append(b.want, x.Decision)
		}
		batches = append(batches, b)
	}
	require.Len(t, single, 40)
	require.Len(t, batches, 3)
	return single, batches
}
