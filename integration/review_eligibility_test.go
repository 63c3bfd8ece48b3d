package integration_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// minted is a key that the issuer makes over HTTP, with its id.
func (c caller) minted(t *testing.T, scope string) (caller, string) {
	t.Helper()
	made := c.post(t, "/api/v1/credentials", object{"scope": scope, "name": "minted"}).is(201)
	return caller{base: c.base, key: made.string("key")}, made.string("id")
}

var approve = object{"resolution": "approve"}

// However many keys a key issues, directly or in a chain, it approves once.
func TestReviewCountsIssuersNotKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/review"

	first, _ := w.Admin.minted(t, "server")
	second, _ := w.Admin.minted(t, "server")
	deputy, _ := w.Admin.minted(t, "admin")
	third, _ := deputy.minted(t, "server")
	for name, c := range map[string]caller{"first": first, "second": second, "their issuer": w.Admin, "issued by one that it issued": third} {
		pending := c.post(t, path, approve).is(http.StatusAccepted)
		require.EqualValues(t, 1, pending.value("approvals.given"), name)
	}
	require.Equal(t, object{"given": 1.0, "required": 2.0}, w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["approvals"])
	require.Equal(t, "allow", w.reviewer(t).post(t, path, approve).is(200).string("decision.decision"), "a key of another party is a second approval")
}

// An approval counts only if its reviewer is in good standing when the hold settles.
func TestReviewIgnoresApprovalsOfRevokedKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/review"
	leaver, id := w.Admin.minted(t, "server")
	leaver.post(t, path, approve).is(http.StatusAccepted)
	w.Admin.delete(t, "/api/v1/credentials/"+id).is(204)

	pending := w.reviewer(t).post(t, path, approve).is(http.StatusAccepted)
	require.EqualValues(t, 1, pending.value("approvals.given"), "the approval of the revoked key is gone")
	queue := w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()
	require.Equal(t, object{"given": 1.0, "required": 2.0}, queue[0]["approvals"])
	require.Equal(t, "allow", w.reviewer(t).post(t, path, approve).is(200).string("decision.decision"))
	settled := w.Server.get(t, "/api/v1/reviews?status=approved&action="+action).is(200).list()
	require.NotEmpty(t, settled)
}

// Barring self-review bars every key that stands behind the request.
func TestSelfReviewIsBarredForTheWholeParty(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	backend, _ := w.Admin.minted(t, "server")
	second, _ := w.Admin.minted(t, "server")
	deputy, _ := backendIssuer(t, w)
	_, action := w.action(t, "enforce", with(holding, object{"self_review": "barred"}))
	held := backend.post(t, "/api/v1/authorize", request(w.subject(t), action)).is(200)
	require.Equal(t, "hold", held.string("decision"))
	path := "/api/v1/authorizations/" + held.string("id") + "/review"
	for name, c := range map[string]caller{"the key that asked": backend, "another of its issuer": second, "its issuer": w.Admin, "a deputy's": deputy} {
		refused := c.post(t, path, approve).is(http.StatusForbidden)
		require.Equal(t, "self_review", refused.string("code"), name)
		require.Equal(t, false, c.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["reviewable"], name)
	}
	require.Equal(t, true, w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["reviewable"])
	require.Equal(t, "allow", w.Server.post(t, path, approve).is(200).string("decision.decision"))
}

// backendIssuer is a key that an admin key issued by the environment's admin key issued.
func backendIssuer(t *testing.T, w world) (caller, string) {
	t.Helper()
	deputy, _ := w.Admin.minted(t, "admin")
	return deputy.minted(t, "server")
}

// An environment bars self-review for all its policies, holds that wait already included.
func TestEnvironmentBarsSelfReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	const path = "/api/v1/environment"
	require.Equal(t, false, w.Admin.get(t, path).is(200).value("bar_self_review"), "off unless it is set")
	review := func(id string) string { return "/api/v1/authorizations/" + id + "/review" }
	w.Server.post(t, review(w.authorize(t, w.subject(t), action, "hold").string("id")), approve).is(200)

	waiting := w.authorize(t, w.subject(t), action, "hold").string("id")
	require.Equal(t, true, w.Admin.patch(t, path, object{"bar_self_review": true}).is(200).value("bar_self_review"))
	opened := w.authorize(t, w.subject(t), action, "hold").string("id")
	for _, id := range []string{waiting, opened} {
		require.Equal(t, "self_review", w.Server.post(t, review(id), approve).is(http.StatusForbidden).string("code"))
	}
	for _, row := range w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list() {
		require.Equal(t, "barred", row["self_review"])
		require.Equal(t, false, row["reviewable"])
	}
	w.reviewer(t).post(t, review(opened), approve).is(200)
	require.Equal(t, true, w.Admin.patch(t, path, object{"rp_name": "Alder Bank"}).is(200).value("bar_self_review"), "what is left out stays")
}

// A backend that derives the key from the order must not be told twice that it may pay.
func TestVerifyConsumeIsNotReplayed(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	proof := w.authorize(t, w.subject(t), action, "allow").string("proof")
	payer := w.Server.with("Idempotency-Key", "order-4711")
	body := object{"proof": proof, "audience": audience, "consume": true}

	paid := payer.post(t, "/api/v1/verify", body).is(200)
	require.Equal(t, true, paid.value("valid"))
	again := payer.post(t, "/api/v1/verify", body).is(200)
	require.Equal(t, false, again.value("valid"), "answered: %s", again.body)
	require.Equal(t, "consumed", again.string("status"))
	require.Equal(t, []string{"proof_consumed"}, again.strings("reason_codes"))
	require.Empty(t, again.header.Get("Idempotent-Replayed"))
	require.Zero(t, count(t, "select count(*) from idempotency_keys where operation = 'verifyProof' and $1 <> ''", w.ID))

	other := w.authorize(t, w.subject(t), action, "allow").string("proof")
	require.Equal(t, true, payer.post(t, "/api/v1/verify", object{"proof": other, "consume": true}).is(200).value("valid"), "the key is not looked at")
}

// A repeat gets the first answer byte for byte, proof included, also once the proof is spent; at rest the proof is sealed.
func TestProofIsSealedAtRest(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	body := request(w.subject(t), action)
	first := w.Server.post(t, "/api/v1/authorize", body).is(200)
	proof := first.string("proof")
	require.NotEmpty(t, proof)
	replayed := func() {
		t.Helper()
		again := w.Server.post(t, "/api/v1/authorize", body).is(200)
		require.Equal(t, string(first.body), string(again.body))
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	}
	replayed()
	require.Equal(t, proof, w.Server.get(t, "/api/v1/authorizations/"+first.string("id")).is(200).string("proof.compact"))
	w.Server.post(t, "/api/v1/verify", object{"proof": proof, "consume": true}).is(200)
	replayed()
	require.Nil(t, w.Server.get(t, "/api/v1/authorizations/"+first.string("id")).is(200).value("proof.compact"))

	_, held := w.action(t, "enforce", holding)
	path := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), held, "hold").string("id") + "/review"
	receipt := w.Server.post(t, path, approve).is(200)
	require.NotEmpty(t, receipt.string("decision.proof"))
	require.Equal(t, string(receipt.body), string(w.reviewer(t).post(t, path, approve).is(200).body))

	signature := func(p string) string { return p[strings.LastIndexByte(p, '.'):] }
	for _, p := range []string{proof, receipt.string("decision.proof")} {
		for table, column := range map[string]string{
			"authorizations": "convert_from(response, 'utf8')", "proofs": "coalesce(compact, '')", "reviews": "convert_from(receipt, 'utf8')",
		} {
			require.Zero(t, count(t, "select count(*) from "+table+" where "+column+" like '%' || $1 || '%'", signature(p)), table)
		}
	}
}

// A name that people are shown holds no line breaks and no controls of text direction.
func TestNamesRejectControlCharacters(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for name, bad := range map[string]string{
		"CR LF": "Alder\r\nBank", "C1": "Alder\u0085Bank", "bidi override": "Alder\u202eknaB", "isolate": "\u2066Alder",
		"line separator": "Alder\u2028Bank",
	} {
		require.Equal(t, []string{`["body","rp_name"] control_character`}, w.Admin.patch(t, "/api/v1/environment", object{"rp_name": bad}).faults(), name)
		require.Equal(t, []string{`["body","name"] control_character`},
			w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": bad}).faults(), name)
		require.Equal(t, []string{`["body","description"] control_character`},
			w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/x", "description": bad}).faults(), name)
	}
	for _, good := range []string{"Müller & Söhne", "بنك", "銀行 <1>"} {
		require.Equal(t, good, w.Admin.patch(t, "/api/v1/environment", object{"rp_name": good}).is(200).string("rp_name"))
	}
}

// A changed setting holds for the next challenge, on this replica and on every other.
func TestChangedSettingsReachTheNextChallenge(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	other := w.Server.at(under(t, clock.NewFake(time.Now()))) // its clock stands still: nothing in memory gets too old
	_, action := w.action(t, "enforce", challenging)
	life := func(c caller) (float64, string) {
		made := c.post(t, "/api/v1/authorize", request(w.subject(t), action)).is(200).string("challenge.id")
		view := c.get(t, "/api/v1/challenges/"+made).is(200)
		var seconds float64
		err := shared.Store.Pool().QueryRow(t.Context(), "select extract(epoch from expires_at - created_at)::float8 from challenges where id = $1", made).Scan(&seconds)
		require.NoError(t, err)
		return seconds, view.string("display.requesting_application")
	}
	for _, c := range []caller{w.Server, other} { // both have the settings in memory now
		seconds, _ := life(c)
		require.EqualValues(t, 300, seconds)
	}
	w.Admin.patch(t, "/api/v1/environment", object{"challenge_ttl_seconds": 45, "rp_name": "Alder Bank"}).is(200)
	seconds, name := life(w.Server)
	require.EqualValues(t, 45, seconds)
	require.Equal(t, "Alder Bank", name)
	eventually(t, func() bool {
		seconds, name := life(other)
		return seconds == 45 && name == "Alder Bank"
	}, "the other replica hears of it")
}

// A person who is no reviewer any more by the time the hold settles does not count.
func TestReviewIgnoresApprovalsOfRemovedStaff(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, w world, person string){
		"revoked": func(t *testing.T, w world, person string) {
			require.NoError(t, shared.People.Revoke(t.Context(), w.TenantID, person, "cli:test"))
		},
		"role withdrawn": func(t *testing.T, w world, person string) {
			scope := store.Scope{Tenant: w.TenantID, Environment: w.ID}
			require.NoError(t, shared.People.Withdraw(t.Context(), scope, person, []models.Role{models.RoleReviewer}, "cli:test"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
			held := w.authorize(t, w.subject(t), action, "hold").string("id")
			ann := w.joined(t, models.RoleReviewer, models.RoleAuditor)
			done := ann.submit("/console/"+w.ID+"/reviews/"+held, url.Values{"resolution": {"approve"}})
			require.Equal(t, 303, done.status, done.body)
			given := func() any { return w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["approvals"] }
			require.Equal(t, object{"given": 1.0, "required": 2.0}, given())
			leave(t, w, ann.person)
			require.Equal(t, object{"given": 0.0, "required": 2.0}, given())
			path := "/api/v1/authorizations/" + held + "/review"
			require.EqualValues(t, 1, w.Server.post(t, path, approve).is(http.StatusAccepted).value("approvals.given"))
			w.reviewer(t).post(t, path, approve).is(200)
		})
	}
}

// The console says where self-review is not barred.
func TestConsoleShowsTheSelfReviewSetting(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann := w.joined(t, models.RoleReviewer, models.RoleAuditor)
	const open, barred = "Self-review is not barred in this environment", "Self-review is barred in this environment"
	for _, page := range []string{"reviews", "policies"} {
		require.Contains(t, ann.get("/console/"+w.ID+"/"+page).body, open, page)
	}
	w.Admin.patch(t, "/api/v1/environment", object{"bar_self_review": true}).is(200)
	require.NotContains(t, ann.get("/console/"+w.ID+"/reviews").body, open)
	require.Contains(t, ann.get("/console/"+w.ID+"/policies").body, barred)
}

// A passkey's answer confirms one change: neither again nor after a newer one was asked for.
func TestConsoleCeremonyConfirmsOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann := w.joined(t, models.RoleReviewer)
	at := "/console/" + w.ID + "/confirm"
	stale := func() {
		_, err := shared.Store.Pool().Exec(t.Context(), "update console_sessions set confirmed_at = confirmed_at - interval '1 hour' where person_id = $1", ann.person)
		require.NoError(t, err)
	}
	begin := func() json.RawMessage {
		options := ann.script(at+"/options", object{})
		require.Equal(t, 200, options.status, options.body)
		parsed, err := virtualwebauthn.ParseAssertionOptions(options.body)
		require.NoError(t, err)
		return json.RawMessage(virtualwebauthn.CreateAssertionResponse(ann.rp(), *ann.device, ann.key, *parsed))
	}
	confirm := func(answer json.RawMessage) int { return ann.script(at, object{"credential": answer}).status }
	stale()
	first := begin()
	require.Equal(t, 200, confirm(first))
	stale()
	second := begin()
	require.Equal(t, 200, confirm(second))
	require.Equal(t, 400, confirm(first), "A, B, A")
	stale()
	older, newer := begin(), begin()
	require.Equal(t, 400, confirm(older))
	require.Equal(t, 200, confirm(newer))
}
