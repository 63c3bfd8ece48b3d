package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/directory"
	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// earlierRow is a change of rows whose copies of before an attacker who can write to the database puts back: their MACs match.
type earlierRow struct {
	name   string
	tables []string
	given  func(t *testing.T, w world) (change func())
}

var earlierRows = []earlierRow{
	{"after-review closed", []string{"after_reviews", "after_verdicts"}, func(t *testing.T, w world) func() {
		_, verdict := w.brokenGlass(t, 1)
		return func() {
			w.reviewer(t).post(t, verdict, object{"verdict": "justified", "note": "It was urgent."}).is(200)
		}
	}},
	{"use of a standing approval", []string{"standing_approvals"}, func(t *testing.T, w world) func() {
		_, action := w.standingAction(t, standingPolicy)
		subject := w.subject(t)
		w.begun(t, subject, action, nil)
		return func() { w.decides(t, covered(subject, action, nil), "allow") }
	}},
	{"policy in force", []string{"policy_versions", "actions"}, func(t *testing.T, w world) func() {
		id, _ := w.action(t, "enforce", allowing)
		versions := "/api/v1/actions/" + id + "/policy-versions"
		w.Server.post(t, versions, object{"requirements": denying}).is(201)
		return func() { w.Server.post(t, versions+"/2/activate", nil).is(200) }
	}},
	{"mode of an action", []string{"actions"}, func(t *testing.T, w world) func() {
		id, _ := w.action(t, "shadow", denying)
		return func() { w.Server.patch(t, "/api/v1/actions/"+id, object{"mode": "enforce"}).is(200) }
	}},
	{"settings", []string{"environments"}, func(t *testing.T, w world) func() {
		return func() { w.Admin.patch(t, environmentPath, object{"challenge_ttl_seconds": 60}).is(200) }
	}},
	{"rules of passkeys", []string{"environment_passkeys"}, func(t *testing.T, w world) func() {
		return func() { w.passkeyRules(t, object{"aaguids": []string{uuid.NewString()}}) }
	}},
	{"RP ID taken from the tenant", []string{"rp_ids"}, func(t *testing.T, w world) func() {
		host := w.givenRPID(t)
		return func() {
			_, err := shared.Tenancy.UpdateRPIDs(t.Context(), w.TenantID, tenancy.RPIDs{Take: []string{host}}, "cli:test")
			require.NoError(t, err)
		}
	}},
	{"key revoked", []string{"credentials"}, func(t *testing.T, w world) func() {
		id := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server"}).is(201).string("id")
		return func() { w.Admin.delete(t, "/api/v1/credentials/"+id).is(204) }
	}},
	{"key rotated", []string{"credential_keys"}, func(t *testing.T, w world) func() {
		id := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server"}).is(201).string("id")
		return func() {
			w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", object{"overlap_seconds": 0}).is(200)
			w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", object{"overlap_seconds": 0}).is(200) // the first key is deleted
		}
	}},
	{"passkey revoked", []string{"passkeys"}, func(t *testing.T, w world) func() {
		subject := w.subject(t)
		d := w.device(t, subject)
		return func() { w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+d.id).is(204) }
	}},
	{"signing key rotated", []string{"signing_keys"}, func(t *testing.T, w world) func() {
		return func() { w.Admin.post(t, "/api/v1/signing-keys/rotate", nil).is(200) }
	}},
	{"person revoked", []string{"people"}, func(t *testing.T, w world) func() {
		v := w.signedIn(t, models.RoleReviewer)
		return func() { require.NoError(t, shared.People.Revoke(t.Context(), w.TenantID, v.person, "cli:test")) }
	}},
	{"manager set", []string{"person_positions"}, func(t *testing.T, w world) func() {
		path := "/api/v1/people/" + w.colleague(t) + "/manager"
		w.Admin.do(t, http.MethodPut, path, object{"manager": w.colleague(t)}).is(200)
		return func() { w.Admin.do(t, http.MethodPut, path, object{"manager": w.colleague(t)}).is(200) }
	}},
	{"roles that a directory gives", []string{"directories"}, func(t *testing.T, w world) func() {
		newDirectory(t, w, grantOf(w, "staff", models.RoleReviewer))
		return func() {
			require.NoError(t, shared.Directories.Set(t.Context(), w.TenantID, directory.Settings{Grants: []models.ProviderGrant{grantOf(w, "leads", models.RoleReviewer)}}, "cli:test"))
		}
	}},
	{"token of a directory revoked", []string{"directory_tokens"}, func(t *testing.T, w world) func() {
		newDirectory(t, w, grantOf(w, "staff", models.RoleReviewer))
		token, _, err := shared.Directories.CreateToken(t.Context(), w.TenantID, "cli:test")
		require.NoError(t, err)
		return func() {
			require.NoError(t, shared.Directories.RevokeToken(t.Context(), w.TenantID, token.ID, "cli:test"))
		}
	}},
	{"token of an issuer of signals ended", []string{"signal_streams"}, func(t *testing.T, w world) func() {
		i := newIssuer(t, w, nil)
		return func() {
			_, err := shared.Signals.IssuePushToken(t.Context(), w.scope(), i.stream.Name, "cli:test")
			require.NoError(t, err)
		}
	}},
	{"destination of the log moved", []string{"export_destinations"}, func(t *testing.T, w world) func() {
		w.destination(t, "https://siem.example/in")
		return func() { w.destination(t, "https://other.example/in") }
	}},
	{"challenge required by a signal", []string{"subjects"}, func(t *testing.T, w world) func() {
		i := newIssuer(t, w, nil)
		id := i.known(w.subject(t))
		return func() { i.report(caep+"credential-change", id, nil) }
	}},
	{"role withdrawn", []string{"person_roles"}, func(t *testing.T, w world) func() {
		v := w.signedIn(t, models.RoleReviewer, models.RoleOperator)
		return func() {
			require.NoError(t, shared.People.Withdraw(t.Context(), w.scope(), v.person, []models.Role{models.RoleOperator}, "cli:test"))
		}
	}},
	{"invitation used", []string{"person_invitations"}, func(t *testing.T, w world) func() {
		in, err := shared.People.Create(t.Context(), w.scope(), staff.Invitee{Name: "Staff Member", Roles: []models.Role{models.RoleReviewer}}, "cli:test")
		require.NoError(t, err)
		_, token, _ := strings.Cut(in.URL, "#")
		return func() { anonymous(t).register(token) }
	}},
	{"identity provider", []string{"identity_providers"}, func(t *testing.T, w world) func() {
		set := func(groups ...models.ProviderGrant) {
			_, err := shared.SSO.Set(t.Context(), w.TenantID, sso.Settings{
				Name: "company", Label: "Company", Issuer: "https://idp.example", ClientID: "countersign", ClientSecret: "secret", Grants: groups,
			}, "cli:test")
			require.NoError(t, err)
		}
		set(models.ProviderGrant{Group: "leads", Environment: w.ID, Roles: []models.Role{models.RoleOperator}})
		return func() {
			set(models.ProviderGrant{Group: "leads", Environment: w.ID, Roles: []models.Role{models.RoleReviewer}})
		}
	}},
	{"member of a team", []string{"team_members"}, func(t *testing.T, w world) func() {
		id := w.team(t, "finance", w.reviewer(t), w.reviewer(t))
		return func() { w.Admin.patch(t, "/api/v1/teams/"+id, object{"members": actors(t, w.Admin)}).is(200) }
	}},
	{"team deleted", []string{"teams"}, func(t *testing.T, w world) func() {
		id := w.team(t, "finance", w.reviewer(t))
		return func() { w.Admin.delete(t, "/api/v1/teams/"+id).is(204) }
	}},
	{"deputy withdrawn", []string{"deputies"}, func(t *testing.T, w world) func() {
		ann, bob := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
		at := "/console/" + w.ID + "/deputies"
		named := ann.submit(at+"/new", url.Values{"deputy": {bob.person}, "ends_at": {time.Now().AddDate(0, 0, 7).Format(time.DateOnly)}})
		require.Equal(t, http.StatusSeeOther, named.status, named.body)
		return func() {
			all, err := shared.Teams.Deputies(t.Context(), w.scope())
			require.NoError(t, err)
			require.Equal(t, http.StatusSeeOther, ann.submit(at+"/"+all[0].ID+"/withdraw", sure()).status)
		}
	}},
	{"entry of a list", []string{"list_entries"}, unblocked},
	{"entry of a list with the list", []string{"list_entries", "lists"}, unblocked},
	{"life of an entry of a list", []string{"list_entries"}, func(t *testing.T, w world) func() {
		entries := w.listOf(t, object{"name": "trusted", "kind": "text"}, "10.00", "20.00") + "/entries"
		return func() {
			w.Server.post(t, entries, object{"add": []object{{"value": "10.00", "reason": "For a week.", "expires_at": time.Now().AddDate(0, 0, 7)}}}).is(200)
		}
	}},
	{"hold approved", []string{"holds", "reviews"}, func(t *testing.T, w world) func() {
		_, action := w.action(t, "enforce", holding)
		review := reviewPath(w.authorize(t, w.subject(t), action, "hold").string("id"))
		return func() { w.Admin.post(t, review, approve).is(200) }
	}},
	{"hold moved back", []string{"holds"}, func(t *testing.T, w world) func() {
		_, action := w.action(t, "enforce", holding)
		review := reviewPath(w.authorize(t, w.subject(t), action, "hold").string("id"))
		return func() { w.Admin.post(t, review, object{"resolution": "reject"}).is(200) }
	}},
	{"challenge completed", []string{"challenges"}, func(t *testing.T, w world) func() {
		_, action := w.action(t, "enforce", challenging)
		challenge := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
		return func() {
			w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"}).is(200)
		}
	}},
	{"proof consumed", []string{"proofs"}, func(t *testing.T, w world) func() {
		_, action := w.action(t, "enforce", allowing)
		proof := w.authorize(t, w.subject(t), action, "allow").string("proof")
		return func() {
			w.Server.post(t, "/api/v1/verify", object{"proof": proof, "audience": audience, "consume": true}).is(200)
		}
	}},
	{"outcome", []string{"authorizations"}, func(t *testing.T, w world) func() {
		_, action := w.action(t, "enforce", allowing)
		id := w.authorize(t, w.subject(t), action, "allow").string("id")
		return func() {
			w.Server.post(t, "/api/v1/authorizations/"+id+"/outcome", object{"outcome": "executed"}).is(200)
		}
	}},
	{"subject revoked", []string{"subjects"}, func(t *testing.T, w world) func() {
		subject := w.subject(t)
		return func() { w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(200) }
	}},
	{"cap on claims", []string{"subjects"}, func(t *testing.T, w world) func() {
		subject := w.subject(t)
		return func() { w.Server.post(t, "/api/v1/subjects/"+subject+"/recovery", object{"anchor": "none"}).is(201) }
	}},
	{"evaluation closed", []string{"evaluations"}, func(t *testing.T, w world) func() {
		_, action := w.action(t, "shadow", allowing)
		id := w.Server.post(t, "/api/v1/evaluations", object{"name": "Pilot", "action_keys": []string{action}}).is(201).string("id")
		return func() { w.Server.post(t, "/api/v1/evaluations/"+id+"/close", nil).is(200) }
	}},
}

// unblocked removes a value from a list of blocked ones and adds another, so that the numbers stay the same.
func unblocked(t *testing.T, w world) func() {
	entries := w.listOf(t, object{"name": "blocked", "kind": "text"}, "10.00", "20.00") + "/entries"
	return func() {
		w.Server.post(t, entries, with(adding("30.00"), object{"remove": []object{{"value": "10.00"}}})).is(200)
	}
}

// unchanging are the recorded tables whose rows the service neither changes nor deletes.
var unchanging = []string{"person_passkeys"}

// Rows as they were before a change have the MACs of then, and nothing that is decided refuses them: audit verify finds them.
func TestEarlierRowsAreFound(t *testing.T) {
	t.Parallel()
	for _, table := range pg.AttestedTables() {
		if table.Recorded() && !slices.Contains(unchanging, table.Name) {
			require.True(t, slices.ContainsFunc(earlierRows, func(c earlierRow) bool { return slices.Contains(c.tables, table.Name) }), "earlierRows has no case of %s", table.Name)
		}
	}
	st, err := pg.Open(t.Context(), shared.DatabaseURL, pg.Options{MaxConns: 2, Keys: shared.Core.Keys})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	for _, c := range earlierRows {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			change := c.given(t, w)
			before := make([][]string, len(c.tables))
			for i, table := range c.tables {
				before[i] = w.rowsOf(t, table)
			}
			change()
			require.Empty(t, w.verified(t).Findings)
			undo := errors.New("undo")
			require.ErrorIs(t, st.Write(t.Context(), func(q *pg.Q) error {
				for i, table := range c.tables {
					require.NotEqual(t, before[i], w.rowsOf(t, table), "the change is one of %s", table)
					if err := w.putBack(t, q, table, before[i]); err != nil {
						return err
					}
				}
				found, err := audit.VerifyIn(t.Context(), q, w.scope())
				require.NoError(t, err)
				for _, table := range c.tables {
					if table == "list_entries" && len(c.tables) > 1 {
						continue // they are those of their list
					}
					require.True(t, slices.ContainsFunc(found.Findings, func(f audit.Finding) bool { return strings.Contains(f.Field+" "+f.Detail, table) }),
						"%s: %+v", table, found.Findings)
				}
				return undo
			}), undo)
		})
	}
}

// rowsIn is the condition of the rows of a table that belong to the environment.
func (w world) rowsIn(table string) string {
	of := "environment_id = @environment"
	if t := pg.TableOf(table); t.Attested() {
		of = t.Of
	}
	return strings.NewReplacer("@tenant", "'"+w.TenantID+"'", "@environment", "'"+w.ID+"'").Replace(of)
}

// rowsOf returns the rows of a table that belong to the environment.
func (w world) rowsOf(t *testing.T, table string) (rows []string) {
	t.Helper()
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), fmt.Sprintf("select coalesce(array_agg(x::text order by x::text), '{}') from %s x where %s", table, w.rowsIn(table))).Scan(&rows))
	return rows
}

// putBack makes rows those of the table that belong to the environment. It returns an error if the transaction must be repeated.
func (w world) putBack(t *testing.T, q *pg.Q, table string, rows []string) error {
	t.Helper()
	var columns string
	require.NoError(t, q.QueryRow(t.Context(), `select string_agg(quote_ident(column_name), ', ') from information_schema.columns
		where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`, table).Scan(&columns))
	unreferenced(t, q)
	_, err := q.Exec(context.WithoutCancel(t.Context()), "delete from "+table+" where "+w.rowsIn(table))
	if pg.Conflicted(err) {
		return err
	}
	require.NoError(t, err)
	_, err = q.Exec(t.Context(), fmt.Sprintf("insert into %s (%s) select %[2]s from (select (r::%[1]s).* from unnest($1::text[]) r) x", table, columns), rows)
	if !pg.Conflicted(err) {
		require.NoError(t, err)
	}
	return err
}
