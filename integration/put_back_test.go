package integration_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// putBackRow is a row that ended and that an attacker who can write to the database puts back as it was before, with its own MAC.
type putBackRow struct {
	name, table string
	// given prepares the row. It returns what ends it, and a request that rests on it, which reports whether it was let through.
	given func(t *testing.T, w world) (end func(), use func() bool)
}

// setBack are columns by which an attacker has a row that ended go on, although no copy of it was kept, by table.
var setBack = map[string]string{"holds": "status = 'pending'", "challenges": "status = 'open'", "proofs": "status = 'active'"}

// status reports whether a request was let through, and requires that it was refused otherwise.
func status(t *testing.T, r response, through int) bool {
	t.Helper()
	if r.status != through {
		require.Contains(t, []int{401, 403, 404, 409, 410}, r.status, string(r.body))
	}
	return r.status == through
}

var putBackRows = []putBackRow{
	{"session of the console", "console_sessions", func(t *testing.T, w world) (func(), func() bool) {
		v := w.signedIn(t, models.RoleOperator)
		cookie := v.cookie
		return func() { require.Equal(t, 303, v.submit("/console/sign-out", nil).status) }, func() bool {
			v.cookie = cookie
			return v.get("/console/"+w.ID+"/people").status == http.StatusOK
		}
	}},
	{"invitation", "person_invitations", func(t *testing.T, w world) (func(), func() bool) {
		in, err := shared.People.Create(t.Context(), w.scope(), staff.Invitee{Name: "Staff Member", Roles: []models.Role{models.RoleReviewer}}, "cli:test")
		require.NoError(t, err)
		_, token, _ := strings.Cut(in.URL, "#")
		return func() { anonymous(t).register(token) }, func() bool {
			return anonymous(t).script("/console/invitation/options", object{"token": token}).status == http.StatusOK
		}
	}},
	{"access of a person", "people", func(t *testing.T, w world) (func(), func() bool) {
		v := w.signedIn(t, models.RoleReviewer)
		return func() { require.NoError(t, shared.People.Revoke(t.Context(), w.TenantID, v.person, "cli:test")) }, func() bool {
			return v.signIn().status == http.StatusOK
		}
	}},
	{"confirmation of a person", "people", func(t *testing.T, w world) (func(), func() bool) {
		giver, v := w.signedIn(t, models.RoleOperator), anonymous(t)
		in, err := shared.People.Create(t.Context(), w.scope(), staff.Invitee{Name: "Staff Member", Roles: []models.Role{models.RoleReviewer}}, "cli:test")
		require.NoError(t, err)
		_, token, _ := strings.Cut(in.URL, "#")
		v.register(token)
		require.NoError(t, shared.People.ConfirmIdentityAs(t.Context(), w.scope(), in.Person.ID, staff.By{Person: giver.person}))
		_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
		held := w.authorize(t, w.subject(t), action, "hold").string("id")
		return func() { require.NoError(t, shared.People.Revoke(t.Context(), w.TenantID, giver.person, "cli:test")) }, func() bool {
			done := v.submit("/console/"+w.ID+"/reviews/"+held, url.Values{"resolution": {"approve"}})
			return done.status == http.StatusSeeOther && count(t, "select count(*) from given_reviews where environment_id = $1", w.ID) > 0
		}
	}},
	{"role", "person_roles", func(t *testing.T, w world) (func(), func() bool) {
		v := w.signedIn(t, models.RoleReviewer, models.RoleOperator)
		return func() {
				require.NoError(t, shared.People.Withdraw(t.Context(), w.scope(), v.person, []models.Role{models.RoleOperator}, "cli:test"))
			}, func() bool {
				again := &visitor{t: t, base: v.base}
				require.Equal(t, http.StatusOK, v.signInFrom(again).status)
				return again.get("/console/"+w.ID+"/people/new").status == http.StatusOK
			}
	}},
	{"key", "credentials", func(t *testing.T, w world) (func(), func() bool) {
		made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server"}).is(201)
		key := caller{base: shared.baseURL, key: made.string("key")}
		return func() { w.Admin.delete(t, "/api/v1/credentials/"+made.string("id")).is(204) }, func() bool {
			shared.Identity.Forget(made.string("id"))
			return status(t, key.get(t, "/api/v1/credential"), 200)
		}
	}},
	{"rotated key", "credential_keys", func(t *testing.T, w world) (func(), func() bool) {
		made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server"}).is(201)
		key := caller{base: shared.baseURL, key: made.string("key")}
		return func() {
				w.Admin.post(t, "/api/v1/credentials/"+made.string("id")+"/rotate", object{"overlap_seconds": 0}).is(200)
			}, func() bool {
				shared.Identity.Forget(made.string("id"))
				return status(t, key.get(t, "/api/v1/credential"), 200)
			}
	}},
	{"session that ended", "sessions", func(t *testing.T, w world) (func(), func() bool) {
		subject := w.subject(t)
		session := w.open(t, subject)
		page := w.page(t, subject, nil)
		return func() { w.Server.post(t, "/api/v1/sessions/"+session+"/end", nil).is(http.StatusOK) }, func() bool {
			return status(t, page.sendFrame(t, session, "score", typist(t.Name()), 1), http.StatusOK)
		}
	}},
	{"session of which a decision has evidence", "sessions", func(t *testing.T, w world) (func(), func() bool) {
		subject := w.subject(t)
		session := w.open(t, subject)
		_, action := w.action(t, "enforce", allowing)
		return func() { w.Server.post(t, "/api/v1/sessions/"+session+"/end", nil).is(http.StatusOK) }, func() bool {
			decided := w.Server.post(t, "/api/v1/authorize", request(subject, action)).is(http.StatusOK)
			return !strings.Contains(string(decided.body), "session_ended")
		}
	}},
	{"subject of before its recovery", "subjects", func(t *testing.T, w world) (func(), func() bool) {
		subject := w.subject(t)
		session := w.session(t, subject, "enroll", typist(t.Name()), 1)
		return func() { w.recover(t, subject) }, func() bool {
			return status(t, w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": session}), http.StatusAccepted)
		}
	}},
	{"deputy", "deputies", func(t *testing.T, w world) (func(), func() bool) {
		ann, bob := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
		w.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Finance", "members": []string{"person:" + ann.person}}).is(http.StatusCreated)
		at := "/console/" + w.ID + "/deputies"
		named := ann.submit(at+"/new", url.Values{"deputy": {bob.person}, "ends_at": {time.Now().AddDate(0, 0, 7).Format(time.DateOnly)}})
		require.Equal(t, http.StatusSeeOther, named.status, named.body)
		_, action := w.action(t, "enforce", with(holding, object{"review": []object{{"group": "finance", "approvals": 1}}}))
		held := w.authorize(t, w.subject(t), action, "hold").string("id")
		return func() {
				all, err := shared.Teams.Deputies(t.Context(), w.scope())
				require.NoError(t, err)
				require.Equal(t, http.StatusSeeOther, ann.submit(at+"/"+all[0].ID+"/withdraw", sure()).status)
			}, func() bool {
				_ = bob.submit("/console/"+w.ID+"/reviews/"+held, url.Values{"resolution": {"approve"}})
				return count(t, "select count(*) from given_reviews where environment_id = $1", w.ID)+count(t, "select count(*) from reviews where environment_id = $1", w.ID) > 0
			}
	}},
	{"client token", "client_tokens", func(t *testing.T, w world) (func(), func() bool) {
		subject := w.subject(t)
		page := w.page(t, subject, nil)
		return func() { w.Server.post(t, "/api/v1/subjects/"+subject+"/recovery", object{"anchor": "none"}).is(201) }, func() bool {
			return status(t, page.sendFrame(t, w.open(t, subject), "score", typist(t.Name()), 1), 200)
		}
	}},
	{"grant to register a passkey", "registration_grants", func(t *testing.T, w world) (func(), func() bool) {
		subject := w.subject(t)
		path := "/api/v1/subjects/" + subject + "/passkeys/"
		grant := w.Server.post(t, path+"registration-grants", nil).is(201).string("token")
		return func() { w.Server.post(t, "/api/v1/subjects/"+subject+"/recovery", object{"anchor": "none"}).is(201) }, func() bool {
			return status(t, w.Server.post(t, path+"register/options", object{"registration_grant": grant}), 200)
		}
	}},
	{"use of a standing approval", "standing_approvals", func(t *testing.T, w world) (func(), func() bool) {
		_, action := w.standingAction(t, standingPolicy)
		subject := w.subject(t)
		w.begun(t, subject, action, object{"max_uses": 1})
		use := func() bool {
			return w.Server.post(t, "/api/v1/authorize", covered(subject, action, nil)).is(200).string("decision") == "allow"
		}
		return func() { require.True(t, use()) }, use
	}},
	{"passkey", "passkeys", func(t *testing.T, w world) (func(), func() bool) {
		_, action := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
		subject := w.subject(t)
		d := w.device(t, subject)
		challenge := w.authorize(t, subject, action, "challenge").string("challenge.id")
		return func() { w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+d.id).is(204) }, func() bool {
			options := w.Server.post(t, "/api/v1/challenges/"+challenge+"/passkey/options", nil)
			return status(t, options, 200)
		}
	}},
	{"member of a team", "team_members", func(t *testing.T, w world) (func(), func() bool) {
		one, two := w.reviewer(t), w.reviewer(t)
		id := w.team(t, "finance", one, two)
		_, action := w.action(t, "enforce", with(holding, object{"review": []object{{"group": "finance", "approvals": 1}}}))
		approves := w.approves(t, action, two)
		return func() { w.Admin.patch(t, "/api/v1/teams/"+id, object{"members": actors(t, one)}).is(200) }, func() bool { return status(t, approves(), 200) }
	}},
	{"token of a directory", "directory_tokens", func(t *testing.T, w world) (func(), func() bool) {
		newDirectory(t, w, grantOf(w, "staff", models.RoleReviewer))
		token, key, err := shared.Directories.CreateToken(t.Context(), w.TenantID, "cli:test")
		require.NoError(t, err)
		return func() {
				require.NoError(t, shared.Directories.RevokeToken(t.Context(), w.TenantID, token.ID, "cli:test"))
			}, func() bool {
				return status(t, (caller{base: shared.baseURL, key: key}).get(t, "/scim/v2/Users"), 200)
			}
	}},
	{"endpoint that was disabled", "webhook_endpoints", func(t *testing.T, w world) (func(), func() bool) {
		path := "/api/v1/webhook-endpoints/" + w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/a"}).is(http.StatusCreated).string("id")
		return func() { w.Admin.patch(t, path, object{"status": "disabled"}).is(http.StatusOK) }, func() bool {
			return status(t, w.Admin.post(t, path+"/replay", nil), http.StatusAccepted)
		}
	}},
	{"earlier address of an endpoint", "webhook_endpoints", func(t *testing.T, w world) (func(), func() bool) {
		path := "/api/v1/webhook-endpoints/" + w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/a"}).is(http.StatusCreated).string("id")
		return func() { w.Admin.patch(t, path, object{"url": "https://hooks.example/b"}).is(http.StatusOK) }, func() bool {
			return w.Admin.get(t, path).string("url") == "https://hooks.example/a" && status(t, w.Admin.post(t, path+"/test", nil), http.StatusOK)
		}
	}},
	{"stream that was removed", "signal_streams", func(t *testing.T, w world) (func(), func() bool) {
		i := newIssuer(t, w, nil)
		known := i.known(w.subject(t))
		return func() {
				_, err := changes().RemoveSignals(t.Context(), w.scope(), change.By{Actor: "cli:test"}, "company")
				require.NoError(t, err)
			}, func() bool {
				return i.push(i.sign(i.claims(caep+"session-revoked", known, nil, nil), nil)).status == http.StatusAccepted
			}
	}},
	{"change that was rejected", "changes", func(t *testing.T, w world) (func(), func() bool) {
		approve := changeApproved(t, w)
		return func() {
				change := w.Admin.get(t, "/api/v1/changes?status=pending").is(http.StatusOK).list()[0]["id"].(string)
				w.Admin.post(t, "/api/v1/changes/"+change+"/withdraw", nil).is(http.StatusOK)
			}, func() bool {
				return status(t, approve(), http.StatusOK)
			}
	}},
	{"subject that was revoked", "subjects", func(t *testing.T, w world) (func(), func() bool) {
		subject := w.subject(t)
		return func() { w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(200) }, w.allows(t, subject)
	}},
	{"subject that was erased", "subjects", func(t *testing.T, w world) (func(), func() bool) {
		subject := w.subject(t)
		_, action := w.action(t, "enforce", allowing)
		return func() {
				w.Server.delete(t, "/api/v1/subjects/"+subject).is(http.StatusAccepted)
				eventually(t, func() bool { return count(t, "select count(*) from subjects where environment_id = $1", w.ID) == 0 }, "the subject is erased")
			}, func() bool {
				answer := w.Server.post(t, "/api/v1/authorize", request(subject, action))
				return answer.status == http.StatusOK && answer.string("decision") == "allow"
			}
	}},
	{"proof", "proofs", func(t *testing.T, w world) (func(), func() bool) {
		consume := proofActive(t, w)
		return func() { require.Equal(t, true, consume().is(200).value("valid")) }, func() bool { return consume().is(200).value("valid") == true }
	}},
	{"challenge that was completed", "challenges", func(t *testing.T, w world) (func(), func() bool) {
		return challengeEnded(t, w, func(id string) {
			w.Server.post(t, "/api/v1/challenges/"+id+"/complete", object{"method": "sandbox_confirm"}).is(200)
		})
	}},
	{"challenge that was cancelled", "challenges", func(t *testing.T, w world) (func(), func() bool) {
		return challengeEnded(t, w, func(id string) { w.Server.post(t, "/api/v1/challenges/"+id+"/cancel", nil).is(200) })
	}},
	{"hold that was rejected", "holds", func(t *testing.T, w world) (func(), func() bool) {
		return holdEnded(t, w, func(id string) { w.Admin.post(t, reviewPath(id), object{"resolution": "reject"}).is(200) })
	}},
	{"hold that was withdrawn", "holds", func(t *testing.T, w world) (func(), func() bool) {
		return holdEnded(t, w, func(id string) { w.Server.post(t, "/api/v1/authorizations/"+id+"/withdraw", nil).is(200) })
	}},
}

// allows returns a request for a decision about a subject, which reports whether it was allowed.
func (w world) allows(t *testing.T, subject string) func() bool {
	_, action := w.action(t, "enforce", allowing)
	return func() bool {
		return w.Server.post(t, "/api/v1/authorize", request(subject, action)).is(http.StatusOK).string("decision") == "allow"
	}
}

// A reinstated subject acts again. A copy of it from before the revocation does not.
func TestEarlierRowsOfAReinstatedSubjectAreRefused(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	allowed := w.allows(t, subject)
	path := "/api/v1/subjects/" + subject
	before := w.rowsOf(t, "subjects")
	w.Server.post(t, path+"/revoke", nil).is(http.StatusOK)
	change := w.Admin.post(t, path+"/reinstate", object{"reason": "The phone was found."}).is(http.StatusAccepted).string("id")
	second := caller{base: w.Server.base, key: w.issue(t, models.ScopeAdmin, nil)}
	second.post(t, "/api/v1/changes/"+change+"/approve", nil).is(http.StatusOK)
	require.True(t, allowed(), "the revocation has ended")
	require.Empty(t, w.verified(t).Findings)
	reinstated := w.rowsOf(t, "subjects")
	w.putsBack(t, "subjects", before)
	require.False(t, allowed(), "a copy from before the revocation")
	w.putsBack(t, "subjects", reinstated)
	require.True(t, allowed())
	w.Server.post(t, path+"/revoke", nil).is(http.StatusOK)
	w.putsBack(t, "subjects", reinstated)
	require.False(t, allowed(), "a copy from before the second revocation")
}

func challengeEnded(t *testing.T, w world, end func(id string)) (func(), func() bool) {
	_, action := w.action(t, "enforce", challenging)
	id := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
	return func() { end(id) }, func() bool {
		// Another request than the one that may have completed it.
		answer := w.Server.post(t, "/api/v1/challenges/"+id+"/cancel", nil)
		if answer.status == http.StatusOK {
			return count(t, "select count(*) from events where environment_id = $1 and type in ('challenge.completed', 'challenge.cancelled')", w.ID) > 1
		}
		answer.problem(409, "challenge_closed")
		return false
	}
}

func holdEnded(t *testing.T, w world, end func(id string)) (func(), func() bool) {
	_, action := w.action(t, "enforce", holding)
	id := w.authorize(t, w.subject(t), action, "hold").string("id")
	return func() { end(id) }, func() bool {
		answer := w.Admin.post(t, reviewPath(id), approve)
		if answer.status != http.StatusOK {
			answer.problem(409, "review_resolved")
		}
		return answer.status == http.StatusOK
	}
}

// putBackElsewhere are tables whose rows end and of which putBackRows has none, each with the reason.
var putBackElsewhere = map[string]string{
	"recoveries":         "internal/subject/recovery TestAnEarlierCopyOfARecoveryIsOver: it takes a cool-down to complete one",
	"signing_keys":       "what it signed stays valid until the key is removed from the key set, and the newest key signs; audit verify finds it (TestEarlierRowsAreFound)",
	"policy_versions":    "an action names its version; with the earlier action, audit verify finds it (TestEarlierRowsAreFound)",
	"teams":              "its members end with it (member of a team)",
	"identity_providers": "audit verify finds it (TestEarlierRowsAreFound)",
}

// A row that ended is refused when it is used again, although an earlier copy of it with its own MAC was put back.
func TestEarlierRowsAreRefused(t *testing.T) {
	t.Parallel()
	for _, table := range pg.AttestedTables() {
		if table.Ends != nil && putBackElsewhere[table.Name] == "" {
			require.True(t, slices.ContainsFunc(putBackRows, func(c putBackRow) bool { return c.table == table.Name }), "putBackRows has no case of %s", table.Name)
		}
	}
	for _, c := range putBackRows {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			end, use := c.given(t, w)
			before := w.rowsOf(t, c.table)
			end()
			require.False(t, use(), "it has ended")
			require.Empty(t, w.verified(t).Findings)
			if set := setBack[c.table]; set != "" && count(t, "select count(*) from "+c.table+" where environment_id = $1", w.ID) > 0 {
				w.alter(t, "update "+c.table+" set "+set+" where environment_id = @environment")
				for range 3 {
					require.False(t, use(), "it was set back")
				}
			}
			w.putsBack(t, c.table, before)
			for range 3 {
				require.False(t, use(), "an earlier copy was put back")
			}
			require.True(t, slices.ContainsFunc(w.verified(t).Findings, func(f audit.Finding) bool { return strings.Contains(f.Field+" "+f.Detail, c.table) }))
		})
	}
}

// putsBack is putBack by another hand than the service's.
func (w world) putsBack(t *testing.T, table string, rows []string) {
	t.Helper()
	st, err := pg.Open(t.Context(), shared.DatabaseURL, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	defer st.Close()
	require.NoError(t, st.Write(t.Context(), func(q *pg.Q) error { return w.putBack(t, q, table, rows) }))
}

// Who deletes the ending too is let through, and is found by audit verify: for ever, also after everything was put as the log left it.
func TestDeletedEndingsAreFound(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	consume := proofActive(t, w)
	active := w.rowsOf(t, "proofs")
	require.Equal(t, true, consume().is(200).value("valid"))
	consumed, ended := w.rowsOf(t, "proofs"), w.rowsOf(t, "endings")
	w.putsBack(t, "endings", nil)
	w.putsBack(t, "proofs", active)
	require.Equal(t, true, consume().is(200).value("valid"), "without its ending, an earlier copy is believed")
	w.putsBack(t, "endings", ended)
	w.putsBack(t, "proofs", consumed)
	require.True(t, slices.ContainsFunc(w.verified(t).Findings, func(f audit.Finding) bool { return f.Kind == audit.Impossible }), "%+v", w.verified(t).Findings)

	other := newSandbox(t)
	v := other.signedIn(t, models.RoleOperator)
	cookie, open := v.cookie, other.rowsOf(t, "console_sessions")
	require.Equal(t, 303, v.submit("/console/sign-out", nil).status)
	other.putsBack(t, "console_sessions", open)
	other.putsBack(t, "tenant_endings", nil)
	v.cookie = cookie
	require.Equal(t, http.StatusOK, v.get("/console/"+other.ID+"/people").status, "without its ending, an earlier copy is believed")
	require.True(t, slices.ContainsFunc(other.verified(t).Findings, func(f audit.Finding) bool { return f.Kind == audit.Missing && f.Field == "tenant_endings" }))
}

// An ending that the service did not store is found, although what it names is refused.
func TestMadeUpEndingsAreFound(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	consume := proofActive(t, w)
	execSQL(t, `insert into endings (environment_id, tenant_id, record, state, ended_at, row_mac)
		select environment_id, tenant_id, 'proofs', jti, now(), '' from proofs where environment_id = '`+w.ID+`'`)
	require.NotEqual(t, true, consume().is(200).value("valid"))
	require.True(t, slices.ContainsFunc(w.verified(t).Findings, func(f audit.Finding) bool { return f.Field == "endings.row_mac" }))
}
