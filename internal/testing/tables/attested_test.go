package tables_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/tables"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// A row of which any column that decides was changed cannot be read, by whichever query, and one of which another column was changed can.
func TestAlteredRowsCannotBeRead(t *testing.T) {
	t.Parallel()
	st := testenv.TamperedStore(t)
	w := fixture.New(t, st, storetest.Epoch)
	for _, row := range attestedRows(w) {
		w.Exec(row, w.Scope.Tenant, w.Scope.Environment, w.Subject.UID)
	}
	read := func(table *pg.Table) error {
		rows := table.NewRows()
		err := st.Gorm(context.Background()).Where(table.Of, map[string]any{"tenant": w.Scope.Tenant, "environment": w.Scope.Environment}).Find(rows).Error
		require.NotZero(t, reflect.ValueOf(rows).Elem().Len(), table.Name)
		return err
	}
	for _, table := range pg.AttestedTables() {
		t.Run(table.Name, func(t *testing.T) {
			require.NoError(t, read(table))
			for _, column := range slices.Concat(table.Signed(), table.Added) {
				change, possible := alteration(t, st, table.Name, column)
				if !possible {
					continue
				}
				_, err := st.Pool().Exec(t.Context(), fmt.Sprintf("update %s set %s = %s", table.Name, column, change))
				require.NoError(t, err, column)
				var altered *pg.Altered
				require.ErrorAs(t, read(table), &altered, column)
				require.Equal(t, table.Name, altered.Table)
				testenv.Attest(t, st)
				require.NoError(t, read(table), column)
			}
		})
	}
}

// attestedRows insert a row of each attested table that the fixture has none of; $1 is the tenant, $2 the environment, $3 the subject.
func attestedRows(w *fixture.World) []string {
	w.AddCredential("crd_1", "cli:test")
	h := w.Hold(time.Hour, 1)
	w.Challenge(time.Hour, "passkey")
	out := []string{
		`insert into hold_teams (authorization_id, tenant_id, environment_id, team, approvals) select '` + h.AuthorizationID + `', $1, $2, 'leads', 1`,
		`insert into hold_steps (authorization_id, tenant_id, environment_id, step, name, approvals) select '` + h.AuthorizationID + `', $1, $2, 1, 'lead', 1`,
		`insert into after_reviews select '` + h.AuthorizationID + `', $1, $2, 'act_1', 'person:prs_1', 'person:prs_1', 'credential:crd_1', 'prs_1', 'leads', 'd', 1, now(), now(), 'open'`,
		`insert into after_verdicts select '` + h.AuthorizationID + `', $2, $1, 'person:prs_1', 'person:prs_1', 'justified', 'd', now()`,
		`insert into standing_approvals (id, tenant_id, environment_id, subject_uid, action_id, action_key, policy_version, policy_hash, mode, source, audience, resource_type,
			terms, max_uses, max_amount, currency, ends_at, created_at, created_by, status, authorization_id) select 'sta_1', $1, $2, $3, 'act_1', 'payment.release', 1, 'h',
			'enforce', 'passkey', 'payments', 'supplier', '\x01', 5, 100, 'EUR', now(), now(), 'cli:test', 'active', 'azn_1'`,
		`insert into credential_keys (mac, credential_id, created_at) select '\x01', 'crd_1', now()`,
		`insert into changes (id, tenant_id, environment_id, kind, status, target, proposed, base, differences, digest, proposed_by, principal, created_at, expires_at)
			select 'chg_1', $1, $2, 'action.mode', 'pending', 'act_1', '{}', '{}', '[]', '\x01', 'credential:crd_1', 'credential:crd_1', now(), now() + interval '1 hour'`,
		`insert into recoveries (id, tenant_id, environment_id, subject_uid, status, anchor, created_at, ready_at, expires_at)
			select 'rcv_1', $1, $2, $3, 'ready', 'none', now(), now(), now() + interval '1 day'`,
		`insert into sessions (id, tenant_id, environment_id, subject_uid, device_class, status, started_at, last_activity_at)
			select 'ses_1', $1, $2, $3, 'desktop', 'active', now(), now()`,
		`insert into webhook_endpoints (id, tenant_id, environment_id, url, description, events, status, created_at, updated_at)
			select 'whe_1', $1, $2, 'https://hooks.example/', '', '{}', 'enabled', now(), now()`,
		`insert into passkeys (id, tenant_id, environment_id, subject_uid, credential_id, public_key, attestation_type, aaguid, transports, sign_count,
			user_verified, backup_eligible, backup_state, created_at) select 'psk_1', $1, $2, $3, '\x01', '\x02', 'none', '\x03', '{}', 1, true, false, false, now()`,
		`insert into signing_keys (kid, tenant_id, environment_id, status, public_jwk, sealed, created_at) select 'k', $1, $2, 'active', '{}', '', now()`,
		`insert into rp_ids (rp_id, tenant_id) select 'bank.example', $1`,
		`insert into client_tokens (mac, id, tenant_id, environment_id, credential_id, subject_uid, origin, created_at, expires_at)
			select '\x01', 'ctk_1', $1, $2, 'crd_1', $3, 'https://bank.example', now(), now()`,
		`insert into registration_grants (mac, id, tenant_id, environment_id, credential_id, subject_uid, created_at, expires_at) select '\x01', 'rgr_1', $1, $2, 'crd_1', $3, now(), now()`,
		`insert into identity_providers (id, tenant_id, name, label, issuer, client_id, scopes, groups_claim, grants, listed, created_at, updated_at)
			select 'idp_1', $1, 'x', 'X', 'https://idp.example', 'c', '{}', 'groups', '[]', true, now(), now()`,
		`insert into people (id, tenant_id, name, created_at, created_by) select 'prs_1', $1, 'Ann', now(), 'cli:test'`,
		`insert into person_roles (person_id, environment_id, role, granted_at, granted_by) select 'prs_1', $2, 'reviewer', now(), 'cli:test'`,
		`insert into directories (tenant_id, grants, required, updated_at) select $1, '[]', true, now()`,
		`insert into directory_tokens (id, tenant_id, mac, created_at, created_by) select 'dtk_1', $1, '\x01', now(), 'cli:test'`,
		`insert into directory_users (id, tenant_id, user_name, attributes, active, linked, revision, created_at, updated_at) select 'dus_1', $1, 'ann', '{}', true, false, 1, now(), now()`,
		`insert into directory_groups (id, tenant_id, display_name, revision, created_at, updated_at) select 'dgr_1', $1, 'leads', 1, now(), now()`,
		`insert into signal_streams (id, tenant_id, environment_id, name, issuer, audience, effects, created_at, updated_at, status)
			select 'sst_1', $1, $2, 'company', 'https://idp.example', 'aud', '{}', now(), now(), 'enabled'`,
		`insert into export_destinations (id, tenant_id, environment_id, name, kind, url, encoding, header, ca, created_at, updated_at, position, next_attempt_at, failures)
			select 'dst_1', $1, $2, 'siem', 'otlp', 'https://siem.example', 'json', 'Authorization', '', now(), now(), 0, now(), 0`,
		`insert into directory_members (group_id, user_id, tenant_id) select 'dgr_1', 'dus_1', $1`,
		`insert into person_positions (person_id, tenant_id, changed_at) select 'prs_1', $1, now()`,
		`insert into person_passkeys (id, person_id, credential_id, public_key, attestation_type, aaguid, transports, sign_count, backup_eligible, backup_state, created_at)
			select 'ppk_1', 'prs_1', '\x01', '\x02', 'none', '\x03', '{}', 1, false, false, now()`,
		`insert into person_invitations (mac, id, person_id, created_at, created_by, expires_at) select '\x01', 'inv_1', 'prs_1', now(), 'cli:test', now()`,
		`insert into console_sessions (mac, id, person_id, ceremony, created_at, confirmed_at, last_seen_at, expires_at)
			select '\x01', 'cse_1', 'prs_1', '\x02', now(), now(), now(), now()`,
		`insert into teams (id, tenant_id, environment_id, key, name, created_at, created_by) select 'team_1', $1, $2, 'leads', 'Leads', now(), 'cli:test'`,
		`insert into team_members (team_id, tenant_id, environment_id, member, added_at, added_by) select 'team_1', $1, $2, 'person:prs_1', now(), 'cli:test'`,
		`insert into deputies (id, tenant_id, environment_id, person_id, deputy_id, starts_at, ends_at, created_at)
			select 'dpt_1', $1, $2, 'prs_1', 'prs_1', now(), now() + interval '1 day', now()`,
		`insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at)
			select '` + h.AuthorizationID + `', $2, 'person:prs_1', 'person:prs_1', 'approve', now()`,
		`insert into given_reviews (authorization_id, reviewer, environment_id, tenant_id, resolution, request_id, given_at, due_at)
			select '` + h.AuthorizationID + `', 'person:prs_1', $2, $1, 'approve', 'req_1', now(), now()`,
		`insert into move_requests (target, digest, authorization_id, move, actor, request_id, sign_count, backup_state, requested_at, environment_id)
			select 'chl_1', '\x01', '` + h.AuthorizationID + `', 'cancel', 'person:prs_1', 'req_1', 1, true, now(), $2`,
		`insert into endings (tenant_id, environment_id, record, state, ended_at, useless_at, row_mac) select $1, $2, 'x', 'y', now(), now(), ''`,
		`insert into tenant_endings (tenant_id, record, state, ended_at, useless_at, row_mac) select $1, 'x', 'y', now(), now(), ''`,
		`insert into lists (id, tenant_id, environment_id, name, kind, personal, description, version, entries, entries_sum, created_at, created_by)
			select 'lst_1', $1, $2, 'blocked', 'text', false, '', 1, 1, '', now(), 'cli:test'`,
		`insert into list_entries (id, tenant_id, environment_id, list_id, key, reason, added_at, added_by, salt) select 'lse_1', $1, $2, 'lst_1', 'x', 'r', now(), 'cli:test', ''`,
	}
	out = append(out, `insert into proofs (jti, tenant_id, environment_id, authorization_id, subject_uid, kid, audience, status, issued_at, expires_at, sealed)
		select 'prf_1', $1, $2, '`+h.AuthorizationID+`', $3, 'k', 'a', 'active', now(), now(), ''`)
	for i := range out { // every statement has the same arguments
		out[i] += " where $1::text <> $2::text and $3::text <> ''"
	}
	return out
}

func alteration(t *testing.T, st *pg.Store, table, column string) (expression string, possible bool) {
	t.Helper()
	var kind string
	require.NoError(t, st.Pool().QueryRow(t.Context(), `select data_type from information_schema.columns where table_schema = 'public'
		and table_name = $1 and column_name = $2`, table, column).Scan(&kind))
	expression = tables.Alteration(table, column, kind)
	return expression, expression != ""
}

// The MAC of a row is valid for that row only: a copy in another environment is refused.
func TestAttestedRowsCannotBeCopied(t *testing.T) {
	t.Parallel()
	st := testenv.TamperedStore(t)
	w, other := fixture.New(t, st, storetest.Epoch), fixture.New(t, st, storetest.Epoch)
	_, err := st.Pool().Exec(t.Context(), `update policy_versions set row_mac = (select row_mac from policy_versions where environment_id = $1)
		where environment_id = $2`, w.Scope.Environment, other.Scope.Environment)
	require.NoError(t, err)
	altered, err := pg.AlteredIn(t.Context(), st.Q, other.Scope)
	require.NoError(t, err)
	require.Len(t, altered, 1)
	require.Equal(t, "policy_versions", altered[0].Table)
	altered, err = pg.AlteredIn(t.Context(), st.Q, w.Scope)
	require.NoError(t, err)
	require.Empty(t, altered)
}
