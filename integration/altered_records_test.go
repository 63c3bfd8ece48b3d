package integration_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// alteredRecord is a change that an attacker who can write to the database makes to their advantage.
type alteredRecord struct {
	name, table string
	alter       string // @environment and @other stand for ids, @person for those of the staff of the environment
	// given prepares what the record is part of and returns the request that rests on it.
	given func(t *testing.T, w world) func() response
}

var alteredRecords = []alteredRecord{
	{"policy loosened", "policy_versions", `with other as materialized (select requirements from policy_versions where environment_id = @other limit 1)
		update policy_versions p set requirements = other.requirements from other where p.environment_id = @environment`, decision},
	{"policy deleted", "policy_versions", "delete from policy_versions where environment_id = @environment", decision},
	{"audience added", "policy_versions", "update policy_versions set allowed_audiences = array_append(allowed_audiences, 'elsewhere') where environment_id = @environment", decision},
	{"mode of an action", "actions", "update actions set mode = 'shadow' where environment_id = @environment", decision},
	{"earlier policy in force", "actions", "update actions set active_policy_version = null where environment_id = @environment", decision},
	{"settings", "environments", "update environments set bar_self_review = false, second_approver_required = false, challenge_ttl_seconds = 900 where id = @environment", settings},
	{"rules of passkeys", "environment_passkeys", "update environment_passkeys set rp_ids = '{evil.example}' where environment_id = @environment", settings},
	{"rules of passkeys deleted", "environment_passkeys", "delete from environment_passkeys where environment_id = @environment", settings},
	{"RP ID of the tenant", "rp_ids", "update rp_ids set rp_id = 'evil-' || rp_id where tenant_id = (select tenant_id from environments where id = @environment)",
		func(t *testing.T, w world) func() response {
			w.givenRPID(t)
			return settings(t, w)
		}},
	{"permissions of a key", "credentials", "update credentials set permissions = null, scope = 'admin' where environment_id = @environment", decision},
	{"life of a key", "credential_keys", "update credential_keys set expires_at = now() + interval '1 hour' where credential_id in (select id from credentials where environment_id = @environment)",
		decision},
	{"public key of a passkey", "passkeys", "update passkeys set public_key = public_key || '\\x00' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			_, action := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
			subject := w.subject(t)
			d := w.device(t, subject)
			challenge := w.authorize(t, subject, action, "challenge").string("challenge.id")
			body := object{"method": "passkey", "assertion": w.sign(t, d, challenge)}
			return func() response { return w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", body) }
		}},
	{"life of a signing key", "signing_keys", "update signing_keys set activated_at = now() + interval '1 hour' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			return func() response { return w.Admin.post(t, "/api/v1/signing-keys/rotate", nil) }
		}},
	{"purposes of a client token", "client_tokens", "update client_tokens set purposes = '{score,enroll}' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			subject := w.subject(t)
			page, session := w.page(t, subject, object{"purposes": []string{"score"}}), w.open(t, subject)
			return func() response { return page.sendFrame(t, session, "enroll", typist("ada altered"), 0) }
		}},
	{"life of a registration grant", "registration_grants", "update registration_grants set expires_at = now() + interval '1 hour' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			path := "/api/v1/subjects/" + w.subject(t) + "/passkeys/"
			grant := w.Server.post(t, path+"registration-grants", nil).is(201).string("token")
			return func() response { return w.Server.post(t, path+"register/options", object{"registration_grant": grant}) }
		}},
	{"restriction of a subject", "subjects", "update subjects set adaptation_frozen = not adaptation_frozen where environment_id = @environment", decision},
	{"name of another subject", "subjects", "update subjects set external_id = 'mallory' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			_, action := w.action(t, "enforce", allowing)
			w.subject(t)
			return func() response { return w.Server.post(t, "/api/v1/authorize", request("mallory", action)) }
		}},
	{"names of two subjects exchanged", "subjects", `update subjects set external_id = 'bob' where environment_id = @environment and external_id = 'mallory';
		update subjects set external_id = 'mallory' where environment_id = @environment and external_id = 'ada'; update subjects set external_id = 'ada' where environment_id = @environment and external_id = 'bob'`,
		func(t *testing.T, w world) func() response {
			_, action := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
			for _, id := range []string{"ada", "mallory"} {
				w.Server.post(t, "/api/v1/subjects", object{"id": id}).is(http.StatusCreated)
			}
			w.device(t, "mallory")
			return func() response { return w.Server.post(t, "/api/v1/authorize", request("ada", action)) }
		}},
	{"revocation of a subject", "subjects", "update subjects set status = 'active', revoked_at = null where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			_, action := w.action(t, "enforce", allowing)
			subject := w.subject(t)
			w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(http.StatusOK)
			return func() response { return w.Server.post(t, "/api/v1/authorize", request(subject, action)) }
		}},
	{"subject whose evidence arrives", "subjects", "update subjects set research_consent = true where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			subject := w.subject(t)
			page, session := w.page(t, subject, nil), w.open(t, subject)
			return func() response { return page.sendFrame(t, session, "score", typist("ada altered"), 0) }
		}},
	{"what a change proposes", "changes", "update changes set proposed = '{\"mode\": \"test\"}' where environment_id = @environment", changeApproved},
	{"who requested a change", "changes", "update changes set proposed_by = 'credential:crd_1', principal = 'credential:crd_1' where environment_id = @environment", changeApproved},
	{"life of a change", "changes", "update changes set expires_at = now() + interval '1 day' where environment_id = @environment", changeApproved},
	{"end of a recovery", "recoveries", "update recoveries set status = 'completed', completed_at = now() where environment_id = @environment", enrollmentCooling},
	{"cool-down of a recovery", "recoveries", "update recoveries set ready_at = created_at where environment_id = @environment", enrollmentCooling},
	{"recovery deleted", "recoveries", "delete from recoveries where environment_id = @environment", enrollmentCooling},
	{"recovery moved to another subject", "recoveries", `update recoveries set subject_uid = (select uid from subjects where environment_id = @environment and external_id = 'mallory')
		where environment_id = @environment`,
		func(t *testing.T, w world) func() response {
			w.Server.post(t, "/api/v1/subjects", object{"id": "mallory"}).is(http.StatusCreated)
			return enrollmentCooling(t, w)
		}},
	{"status of a session", "sessions", "update sessions set status = 'active', ended_at = null where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			subject := w.subject(t)
			page, session := w.page(t, subject, nil), w.open(t, subject)
			w.Server.post(t, "/api/v1/sessions/"+session+"/end", nil).is(http.StatusOK)
			return func() response { return page.sendFrame(t, session, "score", typist("ada altered"), 0) }
		}},
	{"device of a session", "sessions", "update sessions set device_class = 'mobile' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			subject := w.subject(t)
			page, session := w.page(t, subject, nil), w.open(t, subject)
			return func() response { return page.sendFrame(t, session, "score", typist("ada altered"), 0) }
		}},
	{"whose session it is", "sessions", `update sessions set subject_uid = (select uid from subjects where environment_id = @environment and external_id = 'mallory')
		where environment_id = @environment`,
		func(t *testing.T, w world) func() response {
			w.Server.post(t, "/api/v1/subjects", object{"id": "mallory"}).is(http.StatusCreated)
			_, action := w.action(t, "enforce", challenging)
			w.open(t, w.subject(t))
			return func() response { return w.Server.post(t, "/api/v1/authorize", request("mallory", action)) }
		}},
	{"address of an endpoint", "webhook_endpoints", "update webhook_endpoints set url = 'https://evil.example/' where environment_id = @environment", testDelivery},
	{"details that an endpoint receives", "webhook_endpoints", "update webhook_endpoints set include_details = true where environment_id = @environment", testDelivery},
	{"who a person counts as", "people", "update people set principal = 'person:prs_other' where id in @person", page},
	{"role of a person", "person_roles", "update person_roles set role = 'operator' where environment_id = @environment", page},
	{"session of a person", "console_sessions", "update console_sessions set expires_at = now() + interval '1 day' where person_id in @person", page},
	{"passkey of a person", "person_passkeys", "update person_passkeys set public_key = public_key || '\\x00' where person_id in @person",
		func(t *testing.T, w world) func() response {
			v := w.signedIn(t, models.RoleReviewer)
			return func() response { return v.signIn().response(t) }
		}},
	{"life of an invitation", "person_invitations", "update person_invitations set expires_at = now() + interval '1 day' where person_id in @person",
		func(t *testing.T, w world) func() response {
			in, err := shared.People.Create(t.Context(), w.scope(), staff.Invitee{Name: "Staff Member", Roles: []models.Role{models.RoleReviewer}}, "cli:test")
			require.NoError(t, err)
			_, token, _ := strings.Cut(in.URL, "#")
			return func() response {
				return anonymous(t).script("/console/invitation/options", object{"token": token}).response(t)
			}
		}},
	{"issuer of an identity provider", "identity_providers", `update identity_providers set issuer = 'https://evil.example'
		where tenant_id = (select tenant_id from environments where id = @environment)`,
		func(t *testing.T, w world) func() response {
			_, err := shared.SSO.Set(t.Context(), w.TenantID, sso.Settings{
				Name: "company", Label: "Company", Issuer: "https://idp.example", ClientID: "countersign", ClientSecret: "secret", Listed: true,
				Grants: []models.ProviderGrant{{Group: "leads", Environment: w.ID, Roles: []models.Role{models.RoleReviewer}}},
			}, "cli:test")
			require.NoError(t, err)
			return func() response { return anonymous(t).get(sso.Path(w.TenantID, "company")).response(t) }
		}},
	{"key of a team", "teams", "update teams set key = 'finance' where key = 'friends' and environment_id = @environment",
		func(t *testing.T, w world) func() response {
			finance, outsider := w.team(t, "finance", w.Admin), w.reviewer(t)
			w.team(t, "friends", outsider)
			_, action := w.action(t, "enforce", with(holding, object{"review": []object{{"group": "finance", "approvals": 1}}}))
			approves := w.approves(t, action, outsider)
			execSQL(t, "delete from teams where id = '"+finance+"'")
			return approves
		}},
	{"member of a team", "team_members", "update team_members set member = 'credential:' || c.id from credentials c where c.name = 'outsider' and c.environment_id = @environment and team_members.environment_id = @environment",
		func(t *testing.T, w world) func() response {
			outsider := w.reviewer(t)
			execSQL(t, "update credentials set name = 'outsider' where '"+actors(t, outsider)[0].(string)+"' = 'credential:' || id")
			w.team(t, "finance", w.Admin)
			_, action := w.action(t, "enforce", with(holding, object{"review": []object{{"group": "finance", "approvals": 1}}}))
			return w.approves(t, action, outsider)
		}},
	{"deputy", "deputies", `insert into deputies (id, tenant_id, environment_id, person_id, deputy_id, starts_at, ends_at, created_at)
		select 'dpt_' || m.person_id, e.tenant_id, e.id, m.person_id, r.person_id, now() - interval '1 day', now() + interval '1 day', now() from environments e
		join person_roles r on r.environment_id = e.id join (select environment_id, substr(member, 8) as person_id from team_members) m
		on m.environment_id = e.id and m.person_id <> r.person_id where e.id = @environment`,
		func(t *testing.T, w world) func() response {
			ann, eve := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
			w.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Finance", "members": []string{"person:" + ann.person}}).is(201)
			_, action := w.action(t, "enforce", with(holding, object{"review": []object{{"group": "finance", "approvals": 1}}}))
			held := w.authorize(t, w.subject(t), action, "hold").string("id")
			return func() response {
				return eve.submit("/console/"+w.ID+"/reviews/"+held, url.Values{"resolution": {"approve"}}).response(t)
			}
		}},
	{"after-review closed", "after_reviews", "update after_reviews set status = 'justified' where environment_id = @environment", func(t *testing.T, w world) func() response {
		again, _ := w.brokenGlass(t, 1)
		return again
	}},
	{"verdict about a break-glass", "after_verdicts", "update after_verdicts set verdict = 'justified' where environment_id = @environment", func(t *testing.T, w world) func() response {
		_, verdict := w.brokenGlass(t, 2)
		w.reviewer(t).post(t, verdict, object{"verdict": "not_justified", "note": "It was not urgent."}).is(200)
		return func() response {
			return w.reviewer(t).post(t, verdict, object{"verdict": "justified", "note": "It was urgent."})
		}
	}},
	{"uses of a standing approval", "standing_approvals", "update standing_approvals set uses = 0, amount_used = 0 where environment_id = @environment", func(t *testing.T, w world) func() response {
		_, action := w.standingAction(t, standingPolicy)
		subject := w.subject(t)
		w.begun(t, subject, action, object{"max_uses": 1})
		w.decides(t, covered(subject, action, nil), "allow")
		return func() response { return w.Server.post(t, "/api/v1/authorize", covered(subject, action, nil)) }
	}},
	{"approvals that a hold requires", "holds", "update holds set approvals_required = 1 where environment_id = @environment", secondApproval},
	{"team that a hold requires", "hold_teams", "update hold_teams set team = 'friends' where environment_id = @environment", teamApproval},
	{"team that a hold requires deleted", "hold_teams", "delete from hold_teams where environment_id = @environment", teamApproval},
	{"approvals that a step of a hold requires", "hold_steps", "update hold_steps set approvals = 1 where environment_id = @environment", secondStep},
	{"step of a hold deleted", "hold_teams", "delete from hold_steps where environment_id = @environment", secondStep},
	{"roles that a directory gives", "directories", "update directories set required = not required where tenant_id = (select tenant_id from environments where id = @environment)",
		directoryLeaver},
	{"token of a directory", "directory_tokens", `update directory_tokens set expires_at = now() + interval '1 day'
		where tenant_id = (select tenant_id from environments where id = @environment)`, directoryChange},
	{"user of a directory", "directory_users", "update directory_users set user_name = 'eve' where tenant_id = (select tenant_id from environments where id = @environment)",
		directoryLeaver},
	{"group of a directory", "directory_groups", "update directory_groups set display_name = 'operators' where tenant_id = (select tenant_id from environments where id = @environment)",
		directoryChange},
	{"member of a group", "directory_members", "update directory_members set row_mac = '' where tenant_id = (select tenant_id from environments where id = @environment)",
		directoryLeaver},
	{"whose word counts", "signal_streams", "update signal_streams set issuer = 'https://evil.example' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			i := newIssuer(t, w, nil)
			token := i.sign(i.claims(caep+"session-revoked", i.known(w.subject(t)), nil, nil), nil)
			return func() response {
				got := i.push(token)
				return response{t: t, status: got.status, header: got.header, body: []byte(got.body)}
			}
		}},
	{"where the log is sent", "export_destinations", "update export_destinations set url = 'https://evil.example' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			path := "/api/v1/destinations/" + w.destination(t, "https://siem.example/in")
			return func() response {
				return w.Admin.do(t, http.MethodPut, path+"/credentials", object{"header": "Bearer 4711"})
			}
		}},
	{"manager of a person", "person_positions", "update person_positions set manager_id = person_id where tenant_id = (select tenant_id from environments where id = @environment)",
		func(t *testing.T, w world) func() response {
			requester := w.colleague(t)
			path := "/api/v1/people/" + requester + "/manager"
			w.Admin.do(t, http.MethodPut, path, object{"manager": w.colleague(t)}).is(200)
			return func() response { return w.Admin.do(t, http.MethodPut, path, object{"manager": nil}) }
		}},
	{"review made up", "reviews", `insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at)
		select id, environment_id, 'credential:' || credential_id, 'credential:' || credential_id, 'approve', now() from authorizations where environment_id = @environment`,
		secondApproval},
	{"review of another principal", "reviews", "update reviews set principal = 'credential:crd_1' where environment_id = @environment", secondApproval},
	{"request of an approval", "move_requests", `insert into move_requests (target, digest, environment_id, authorization_id, move, actor, request_id, requested_at)
		select a.id, sha256(convert_to(format('{"actor":"credential:%s","authorization":"%s","move":"reject","note":null}', c.id, a.id), 'UTF8')), a.environment_id, a.id, 'approve',
		'credential:' || c.id, 'req_1', now() from authorizations a join credentials c on c.environment_id = a.environment_id where a.environment_id = @environment`,
		func(t *testing.T, w world) func() response {
			_, action := w.action(t, "enforce", holding)
			review := reviewPath(w.authorize(t, w.subject(t), action, "hold").string("id"))
			return func() response { return w.Admin.post(t, review, object{"resolution": "reject"}) }
		}},
	{"review that was given", "given_reviews", "update given_reviews set resolution = 'approve' where environment_id = @environment",
		func(t *testing.T, w world) func() response {
			_, action := w.action(t, "enforce", holding)
			ann := w.signedIn(t, models.RoleReviewer)
			ann.give(w, w.authorize(t, w.subject(t), action, "hold").string("id"), "reject")
			return func() response { return ann.get("/console/" + w.ID + "/reviews").response(t) }
		}},
	{"name of a list", "lists", "update lists set name = name || 'x' where environment_id = @environment", listed},
	{"list deleted", "lists", "delete from lists where environment_id = @environment", listed},
	{"kind of a list", "lists", "update lists set kind = 'country' where environment_id = @environment", listed},
	{"life of an entry of a list", "list_entries", "update list_entries set expires_at = now() where environment_id = @environment", listed},
	{"value of an entry of a list", "list_entries", `insert into list_entries select 'lse_2', tenant_id, environment_id, list_id, '10.00', '10.00', reason, null, added_at,
		added_by, salt, row_mac from list_entries where environment_id = @environment`,
		func(t *testing.T, w world) func() response {
			w.listOf(t, object{"name": "trusted", "kind": "text"}, "rent")
			_, action := w.ruled(t, "transfer", rule("unknown", `!(context.amount in list("trusted"))`, holdMatched))
			body := transfer(w.subject(t), action, "10.00")
			return func() response { return w.Server.post(t, "/api/v1/authorize", body) }
		}},
}

// decision requests a decision by the key of the environment.
func decision(t *testing.T, w world) func() response {
	_, action := w.action(t, "enforce", challenging)
	body := request(w.subject(t), action)
	return func() response { return w.Server.post(t, "/api/v1/authorize", body) }
}

// enrollmentCooling enrolls a subject while a recovery of it is cooling down.
func enrollmentCooling(t *testing.T, w world) func() response {
	subject := w.subject(t)
	w.recover(t, subject)
	session := w.open(t, subject)
	return func() response {
		return w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": session})
	}
}

// changeApproved approves a change that another administrator requested.
func changeApproved(t *testing.T, w world) func() response {
	id, _ := w.action(t, "enforce", allowing)
	w.Admin.patch(t, environmentPath, object{"second_approver_required": true}).is(http.StatusOK)
	change := w.Admin.patch(t, "/api/v1/actions/"+id, object{"mode": "shadow"}).is(http.StatusAccepted).string("id")
	second := caller{base: w.Server.base, key: w.issue(t, models.ScopeAdmin, nil)}
	return func() response { return second.post(t, "/api/v1/changes/"+change+"/approve", nil) }
}

// testDelivery sends a test event to an endpoint.
func testDelivery(t *testing.T, w world) func() response {
	made := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/a"}).is(http.StatusCreated).string("id")
	return func() response { return w.Admin.post(t, "/api/v1/webhook-endpoints/"+made+"/test", nil) }
}

func settings(t *testing.T, w world) func() response {
	return func() response { return w.Admin.get(t, environmentPath) }
}

// page opens a page of the console.
func page(t *testing.T, w world) func() response {
	v := w.signedIn(t, models.RoleReviewer)
	return func() response { return v.get("/console/" + w.ID + "/reviews").response(t) }
}

// listed requests a decision by a rule that holds values of a list.
func listed(t *testing.T, w world) func() response {
	w.listOf(t, object{"name": "blocked", "kind": "text"}, "10.00")
	_, action := w.ruled(t, "transfer", rule("blocked", `context.amount in list("blocked")`, holdMatched))
	body := transfer(w.subject(t), action, "10.00")
	return func() response { return w.Server.post(t, "/api/v1/authorize", body) }
}

// secondApproval is the second of three approvals of a hold.
func secondApproval(t *testing.T, w world) func() response {
	_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 3}))
	review := reviewPath(w.authorize(t, w.subject(t), action, "hold").string("id"))
	w.Admin.post(t, review, approve).is(http.StatusAccepted)
	second := w.reviewer(t)
	return func() response { return second.post(t, review, approve) }
}

// secondStep is the first of two approvals of the second step of a hold.
func secondStep(t *testing.T, w world) func() response {
	w.team(t, "finance", w.Admin)
	w.team(t, "leads", w.Admin)
	_, action := w.action(t, "enforce", with(holding, object{"review": stepped}))
	review := reviewPath(w.authorize(t, w.subject(t), action, "hold").string("id"))
	w.Admin.post(t, review, approve).is(http.StatusAccepted)
	second := w.reviewer(t)
	return func() response { return second.post(t, review, approve) }
}

// teamApproval is an approval by a member of another team than that of the hold.
func teamApproval(t *testing.T, w world) func() response {
	friend := w.reviewer(t)
	w.team(t, "finance", w.Admin)
	w.team(t, "friends", friend)
	_, action := w.action(t, "enforce", with(holding, object{"review": []object{{"group": "finance", "approvals": 1}}}))
	return w.approves(t, action, friend)
}

// directoryChange is a change of a group of staff by the company's directory.
func directoryChange(t *testing.T, w world) func() response {
	d, user, group := directoryOfOne(t, w)
	return func() response {
		return d.sends(http.MethodPut, "/Groups/"+group, object{"displayName": "staff", "members": []object{{"value": user}}})
	}
}

// directoryLeaver is the deactivation of a user by the company's directory.
func directoryLeaver(t *testing.T, w world) func() response {
	d, user, _ := directoryOfOne(t, w)
	return func() response {
		return d.sends(http.MethodPut, "/Users/"+user, object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:User"}, "userName": "ann", "active": false})
	}
}

func directoryOfOne(t *testing.T, w world) (d companyDirectory, user, group string) {
	d = newDirectory(t, w, grantOf(w, "staff", models.RoleReviewer))
	user = d.user("ann", nil)
	return d, user, d.group("staff", user)
}

func (d companyDirectory) sends(method, path string, body any) response {
	out := d.send(method, path, body)
	return response{t: d.t, status: out.status, header: out.header, body: []byte(out.raw)}
}

// approves returns an approval of a new hold.
func (w world) approves(t *testing.T, action string, reviewer caller) func() response {
	review := reviewPath(w.authorize(t, w.subject(t), action, "hold").string("id"))
	return func() response { return reviewer.post(t, review, approve) }
}

// response is a page as a response.
func (v visit) response(t *testing.T) response {
	return response{t: t, status: v.status, header: v.header, body: []byte(v.body)}
}

// Who can write to the database cannot loosen what it decides: the request that rests on an altered record of any table that decides is refused with
// 503. Other environments are served.
func TestAlteredRecordsAreRefused(t *testing.T) {
	t.Parallel()
	bystander := newSandbox(t)
	_, free := bystander.action(t, "enforce", allowing)
	person := bystander.subject(t)
	for _, table := range pg.AttestedTables() {
		if alteredFlowsOf[table.Name] == nil && !strings.HasSuffix(table.Name, "endings") { // an ending refuses, whatever it contains
			require.True(t, slices.ContainsFunc(alteredRecords, func(c alteredRecord) bool { return c.table == table.Name }), "alteredRecords has no case of %s", table.Name)
		}
	}
	for _, c := range alteredRecords {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			send := c.given(t, w)
			w.alter(t, strings.NewReplacer("@other", "'"+bystander.ID+"'", "@person", "(select person_id from person_roles where environment_id = @environment)").Replace(c.alter))
			w.refusesAltered(t, c, send)
			bystander.authorize(t, person, free, "allow")
		})
	}
}

// refusesAltered requires that requests which rest on an altered record of a table are refused, that nothing is allowed by it, and that the audit log
// and what operators read name it.
func (w world) refusesAltered(t *testing.T, c alteredRecord, send func() response) {
	t.Helper()
	var refused response
	settled := func() int {
		return count(t, "select count(*) from holds where environment_id = $1 and status <> 'pending'", w.ID) +
			count(t, "select count(*) from authorizations where environment_id = $1 and decision = 'allow'", w.ID)
	}
	before := settled()
	defer func() {
		if t.Failed() {
			t.Logf("%d %s", refused.status, refused.body)
		}
	}()
	// A process checks a record when it loads it, at most some seconds after a change.
	eventually(t, func() bool {
		refused = send()
		switch c.table {
		case "move_requests": // the workflow reads it, which has accepted the request: it waits for the repair
			return refused.status == http.StatusAccepted
		case "given_reviews": // the relay reads it, and does not come to an end
			return strings.Contains(string(refused.body), "This is taking effect.")
		}
		return refused.status == http.StatusServiceUnavailable && refused.header.Get("Retry-After") != ""
	}, "the altered record is refused")
	if refused.status == http.StatusServiceUnavailable {
		require.Equal(t, http.StatusServiceUnavailable, send().status, "again")
	}
	require.Equal(t, before, settled())
	eventually(t, func() bool {
		return count(t, "select count(*) from events where environment_id in (select id from environments where tenant_id = $1) and type = 'record.altered' and data->>'table' = $2",
			w.TenantID, c.table) > 0
	}, "the audit log has an entry")
	named, err := consolequery.AlteredRecords(t.Context(), shared.Core.Store.Q, w.scope(), shared.Clock.Now())
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(named, func(name string) bool { return strings.HasPrefix(name, c.table+" ") }), "%s is not among %q", c.table, named)
}

// The console says so on every page, and Health names the record.
func TestConsoleShowsAlteredRecords(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.action(t, "enforce", challenging)
	v := w.signedIn(t, models.RoleOperator)
	require.NotContains(t, v.get("/console/"+w.ID+"/policies").body, "changed outside of the service")
	execSQL(t, "update policy_versions set proof_ttl_seconds = proof_ttl_seconds + 1 where environment_id = '"+w.ID+"'")
	require.Contains(t, v.get("/console/"+w.ID+"/health").body, "What rests on them is refused: policy_versions pol_")
	require.Contains(t, v.get("/console/"+w.ID+"/policies").body, "A stored record that decisions depend on was changed outside of the service.")
}
