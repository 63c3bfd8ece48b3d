package integration_test

import (
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/models"
)

// narrowed returns a key of the widest scope that can use the permissions, and no others.
func (w world) narrowed(t *testing.T, permissions ...models.Permission) caller {
	t.Helper()
	limit := plenty
	issued, err := shared.Identity.Issue(t.Context(), w.scope(),
		identity.Issue{Scope: models.ScopeAdmin, Name: "narrowed", Permissions: permissions, RateLimit: &limit}, "cli:test", "")
	require.NoError(t, err)
	return caller{base: shared.baseURL, key: issued.Key}
}

func without(x models.Permission) []models.Permission {
	return slices.DeleteFunc(slices.Clone(models.AllPermissions), func(y models.Permission) bool { return x == y })
}

// requireRefusals waits until the audit log has an entry about each of the operations that the code refused to the actor.
func (w world) requireRefusals(t *testing.T, actor, code string, operations []string) {
	t.Helper()
	eventually(t, func() bool {
		rows, err := shared.Store.Pool().Query(t.Context(), `select data->>'operation' from events where environment_id = $1 and type = 'operation.refused'
			and actor = $2 and data->>'code' = $3`, w.ID, actor, code)
		if err != nil {
			return false
		}
		recorded, err := pgx.CollectRows(rows, pgx.RowTo[string])
		return err == nil && !slices.ContainsFunc(operations, func(o string) bool { return !slices.Contains(recorded, o) })
	}, "an entry about each refused operation of "+actor)
}

// Every route is requested with keys that have one permission each, and with keys that lack one each. Each refusal is in the audit log.
func TestEveryRouteChecksPermissions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	type key struct {
		caller
		actor string
		has   models.Permissions
	}
	var keys []key
	for _, x := range models.AllPermissions {
		for _, has := range []models.Permissions{{x}, without(x)} {
			c := w.narrowed(t, has...)
			keys = append(keys, key{c, "credential:" + c.get(t, "/api/v1/credential").is(200).string("credential"), has})
		}
	}
	t.Run("routes", func(t *testing.T) {
		for _, op := range operations() {
			if op.ID == "streamEvents" || op.Scope == "none" {
				continue // a stream has no end; TestNarrowedStream requests it
			}
			t.Run(op.ID, func(t *testing.T) {
				t.Parallel()
				for _, k := range keys {
					a := k.do(t, op.Method, concrete(op), nil)
					if op.Permission == "" || k.has.Has(models.Permission(op.Permission)) {
						require.NotContains(t, []int{401, 403, 500, 503}, a.status, "%v: %s", k.has, a.body)
						continue
					}
					a.problem(403, "insufficient_scope")
					require.Equal(t, "This operation requires the permission "+op.Permission+".", a.string("detail"), "%v", k.has)
				}
			})
		}
	})
	for _, k := range keys {
		var refused []string
		for _, op := range operations() {
			if op.ID != "streamEvents" && op.Permission != "" && !k.has.Has(models.Permission(op.Permission)) {
				refused = append(refused, op.ID)
			}
		}
		w.requireRefusals(t, k.actor, "insufficient_scope", refused)
	}
}

// A key that reads more than a page of the largest size has an entry, however it pages.
func TestBulkReadsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.subject(t)
	w.subject(t)
	key := w.narrowed(t, models.PermissionSubjects, models.PermissionConfigRead)
	for range 101 {
		require.Len(t, key.get(t, "/api/v1/subjects?limit=200").is(200).list(), 2)
		key.get(t, "/api/v1/credentials").is(200)
	}
	actor := "credential:" + key.get(t, "/api/v1/credential").is(200).string("credential")
	eventually(t, func() bool {
		rows, err := shared.Store.Pool().Query(t.Context(), "select data from events where environment_id = $1 and actor = $2", w.ID, actor)
		if err != nil {
			return false
		}
		entries, err := pgx.CollectRows(rows, pgx.RowTo[map[string]any])
		return err == nil && len(entries) == 1 && reflect.DeepEqual(entries[0], map[string]any{"operation": "listSubjects", "count": 202.0})
	}, "one entry about the subjects, none about the keys")
}

func TestEveryOperationOfAKeyNamesItsPermission(t *testing.T) {
	t.Parallel()
	for _, op := range operations() {
		exempt := op.Scope == "none" || slices.Contains(op.Security, "publishableKey")
		require.Equal(t, exempt, op.Permission == "", op.ID)
	}
}

func TestNarrowedStream(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const path = "/api/v1/events/stream"
	w.narrowed(t, without(models.PermissionEvents)...).get(t, path).problem(403, "insufficient_scope")
	end := w.stream(t, shared.baseURL, w.narrowed(t, models.PermissionEvents).key)
	require.NotNil(t, end)
}

// A key shows its permissions when it is created, when it is read and after a rotation; a key without any has everything.
func TestPermissionsAreShown(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	asked := object{"scope": "server", "name": "desk", "permissions": []string{"verify", "decide"}}
	want := []any{"decide", "verify"}
	made := w.Admin.post(t, "/api/v1/credentials", asked).is(201)
	require.Equal(t, want, made.value("permissions"))
	desk := caller{base: shared.baseURL, key: made.string("key")}
	require.Equal(t, want, desk.get(t, "/api/v1/credential").is(200).value("permissions"))
	desk.get(t, "/api/v1/meta").is(200)
	rotated := w.Admin.post(t, "/api/v1/credentials/"+made.string("id")+"/rotate", nil).is(200)
	require.Equal(t, want, rotated.value("permissions"))
	desk.key = rotated.string("key")
	desk.get(t, "/api/v1/subjects").problem(403, "insufficient_scope")

	full := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server"}).is(201)
	require.Nil(t, full.value("permissions"))
	require.Nil(t, w.Server.get(t, "/api/v1/credential").is(200).value("permissions"))
	listed := map[string]any{}
	for _, c := range w.Admin.get(t, "/api/v1/credentials").is(200).list() {
		listed[c["id"].(string)] = c["permissions"]
	}
	require.Equal(t, want, listed[made.string("id")])
	require.Nil(t, listed[full.string("id")])

	require.Equal(t, 1, count(t, `select count(*) from events where environment_id = $1 and type = 'credential.created'
		and data->>'credential' = $2 and data->'permissions' = '["decide", "verify"]'`, w.ID, made.string("id")), "the audit log covers the permissions")

	for name, body := range map[string]object{
		"unknown":   {"scope": "server", "permissions": []string{"everything"}},
		"empty":     {"scope": "server", "permissions": []string{}},
		"null":      {"scope": "server", "permissions": nil},
		"too wide":  {"scope": "server", "permissions": []string{"audit"}},
		"of a page": {"scope": "client", "permissions": []string{"decide"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.Admin.post(t, "/api/v1/credentials", body).is(422)
		})
	}
}

// A key neither issues nor rotates a key that may do more than itself, and issues no client token for what it may not do.
func TestPermissionsCannotBeEscalated(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	clerk := w.narrowed(t, models.PermissionCredentials, models.PermissionDecide)
	const path = "/api/v1/credentials"
	for name, body := range map[string]object{
		"everything":         {"scope": "server"},
		"everything, admin":  {"scope": "admin"},
		"another permission": {"scope": "server", "permissions": []string{"decide", "review"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := clerk.post(t, path, body).is(403)
			require.Equal(t, "insufficient_scope", a.string("code"))
		})
	}
	a := clerk.post(t, path, object{"scope": "admin", "permissions": []string{"review"}}).is(403)
	require.Equal(t, "This operation requires the permission review.", a.string("detail"))
	same := clerk.post(t, path, object{"scope": "admin", "permissions": []string{"decide", "credentials"}}).is(201)
	clerk.post(t, path, object{"scope": "client"}).is(201)
	clerk.post(t, path+"/"+same.string("id")+"/rotate", object{"overlap_seconds": 0}).is(200)
	for _, stronger := range []models.Scope{models.ScopeServer, models.ScopeAdmin} {
		clerk.post(t, path+"/"+w.issued[stronger].ID+"/rotate", nil).problem(403, "insufficient_scope")
	}
	w.Admin.get(t, "/api/v1/credential").is(200)
	clerk.delete(t, path+"/"+w.issued[models.ScopeServer].ID).is(204)

	collector := w.narrowed(t, models.PermissionEvidence)
	token := func(purposes ...string) response {
		body := object{"subject": subject, "origin": "https://app.example.com"}
		if purposes != nil {
			body["purposes"] = purposes
		}
		return collector.post(t, "/api/v1/client-tokens", body)
	}
	token("score").is(201)
	for _, purposes := range [][]string{nil, {"enroll"}, {"score", "enroll"}} {
		require.Contains(t, token(purposes...).is(403).string("detail"), "permission enroll")
	}
	session := collector.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	who, at := typist("a narrowed key"), time.Now().Add(-time.Hour)
	collector.post(t, "/api/v1/sessions/"+session+"/evidence", evidence(who, "score", at, 1)).is(200)
	refused := collector.post(t, "/api/v1/sessions/"+session+"/evidence", evidence(who, "enroll", at, 2)).is(403)
	require.Equal(t, "This operation requires the permission enroll.", refused.string("detail"))
	w.narrowed(t, models.PermissionEvidence, models.PermissionEnroll).
		post(t, "/api/v1/sessions/"+session+"/evidence", evidence(who, "enroll", at, 2)).is(200)
}

// A key that may only decide can take no step by which a request of its own would be approved: weaken the policy, activate it,
// change the action, approve the hold, complete the challenge, issue a key that can, or alter the environment's rules.
func TestNarrowedKeyCannotApproveItself(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, holds := w.action(t, "enforce", holding)
	_, challenges := w.action(t, "enforce", challenging)
	draft := w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": object{"coverage_min": "none"}}).is(201)
	require.InDelta(t, 2, draft.value("version"), 0)
	subject := w.subject(t)
	own := w
	own.Server = w.narrowed(t, models.PermissionDecide)
	held := own.authorize(t, subject, holds, "hold").string("id")
	challenge := own.authorize(t, subject, challenges, "challenge").string("challenge.id")

	for name, step := range map[string]struct {
		method, path string
		body         object
		permission   string
	}{
		"weaken the policy":      {"POST", "/api/v1/actions/" + id + "/policy-versions", object{"requirements": object{"coverage_min": "none"}}, "policy.write"},
		"activate a weaker one":  {"POST", "/api/v1/actions/" + id + "/policy-versions/2/activate", nil, "policy.activate"},
		"stop enforcing":         {"PATCH", "/api/v1/actions/" + id, object{"mode": "test"}, "policy.activate"},
		"register an action":     {"POST", "/api/v1/actions", object{"key": "own.action"}, "policy.write"},
		"approve the hold":       {"POST", "/api/v1/authorizations/" + held + "/review", object{"resolution": "approve"}, "review"},
		"complete the challenge": {"POST", "/api/v1/challenges/" + challenge + "/complete", object{"method": "sandbox_confirm"}, "challenges"},
		"send a link":            {"POST", "/api/v1/challenges/" + challenge + "/link", object{}, "challenges"},
		"register a passkey":     {"POST", "/api/v1/subjects/" + subject + "/passkeys/registration-grants", nil, "passkeys"},
		"reset the subject":      {"POST", "/api/v1/subjects/" + subject + "/recovery", object{"anchor": "idp"}, "subjects"},
		"issue a key":            {"POST", "/api/v1/credentials", object{"scope": "server"}, "credentials"},
		"rotate a key":           {"POST", "/api/v1/credentials/" + w.issued[models.ScopeAdmin].ID + "/rotate", nil, "credentials"},
		"issue a client token":   {"POST", "/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example.com"}, "evidence"},
		"permit self-review":     {"PATCH", "/api/v1/environment", object{"bar_self_review": false}, "config"},
		"rotate signing keys":    {"POST", "/api/v1/signing-keys/rotate", nil, "config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body any
			if step.body != nil {
				body = step.body
			}
			a := own.Server.do(t, step.method, step.path, body)
			a.problem(http.StatusForbidden, "insufficient_scope")
			require.Equal(t, "This operation requires the permission "+step.permission+".", a.string("detail"))
		})
	}
	require.Equal(t, "pending", w.Server.get(t, "/api/v1/authorizations/"+held).is(200).string("review_status"))
	own.authorize(t, subject, holds, "hold")
}
