package upkeep_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/models"
)

const day = 24 * time.Hour

// keeping is setup with the retention tasks.
func keeping(t *testing.T, r upkeep.Retention) *bundle {
	t.Helper()
	b := setup(t)
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b.service, err = upkeep.New(upkeep.RetentionTasks(upkeep.RetentionDeps{Store: b.Store, Research: research.New(b.Store, keys, true), Retention: r})...)
	require.NoError(t, err)
	return b
}

// Each class at its boundary: a row as old as its retention stays, an older one is deleted, and the deletion is recorded.
func TestRetentionDeletesEachClassAfterItsTime(t *testing.T) {
	t.Parallel()
	kept := upkeep.DefaultRetention()
	kept.Authorizations, kept.Events = 2555*day, 2555*day
	frame := func(b *bundle, at time.Time) {
		b.Exec(`insert into sessions (id, tenant_id, environment_id, subject_uid, device_class, status, started_at, last_activity_at)
			values ('ses_1', $1, $2, $3, 'desktop', 'ended', $4, $4) on conflict do nothing`, b.Scope.Tenant, b.Scope.Environment, b.Subject.UID, now)
		b.Exec(`insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at,
			duration_ms, digest) values ('ses_1', $1, $2, $3, 'score', 'accepted', '{}', $4, $4, 1, '\x00')`,
			at.String(), b.Scope.Environment, b.Subject.UID, at)
	}
	for class, c := range map[string]struct {
		keep  time.Duration
		add   func(b *bundle, at time.Time)
		left  string
		event string
	}{
		"frames": {kept.Frames, frame, "select count(*) from frames", "retention.executed"},
		"sessions": {kept.Sessions, func(b *bundle, at time.Time) { b.session("ses_"+at.String(), "ended", at) },
			"select count(*) from sessions", "retention.executed"},
		"templates": {kept.Templates, func(b *bundle, at time.Time) {
			b.Exec(`insert into templates (id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version, data,
				created_at, updated_at) values ($1, $2, $3, $4, 'keystroke', 'desktop', $5, 'superseded', 'm', '\x00', $6, $6)`,
				at.String(), b.Scope.Tenant, b.Scope.Environment, b.Subject.UID, at.UnixNano()%1e9/1000, at)
		}, "select count(*) from templates", "retention.executed"},
		"authorizations": {kept.Authorizations, func(b *bundle, at time.Time) {
			a := b.Authorization("deny")
			a.DecidedAt = at
			b.Write(authorization.Decision{Authorization: a})
		}, "select count(*) from authorizations", "retention.executed"},
		"kept": {kept.Kept, func(b *bundle, at time.Time) {
			a := b.Authorization("deny")
			a.DecidedAt = at
			b.Write(authorization.Decision{Authorization: a, Kept: &models.KeptValues{AuthorizationID: a.ID, TenantID: a.TenantID,
				EnvironmentID: a.EnvironmentID, SubjectUID: a.SubjectUID, Kept: []byte{1}, DecidedAt: at}})
		}, "select count(*) from kept_values", "retention.executed"},
		"aggregates": {kept.Aggregates, func(b *bundle, at time.Time) {
			a := b.Authorization("allow")
			a.DecidedAt = at
			amount := "250.00"
			b.Write(authorization.Decision{Authorization: a, Aggregates: []models.AggregateValue{{RequestID: a.ID, TenantID: a.TenantID,
				EnvironmentID: a.EnvironmentID, SubjectUID: a.SubjectUID, Field: "amount", Decision: a.Decision, Amount: &amount, DecidedAt: at, Reserved: "final"}}})
		}, "select count(*) from aggregate_values", "retention.executed"},
		"notes": {kept.Notes, func(b *bundle, at time.Time) {
			h := b.Hold(time.Hour, 1)
			b.Exec("update holds set status = 'rejected' where authorization_id = $1", h.AuthorizationID)
			b.Exec(`insert into review_notes (authorization_id, reviewer, tenant_id, environment_id, subject_uid, note_digest, note, written_at)
				values ($1, 'person:ada', $2, $3, $4, 'sha256:1', '\x01', $5)`, h.AuthorizationID, b.Scope.Tenant, b.Scope.Environment, b.Subject.UID, at)
		}, "select count(*) from review_notes", "retention.executed"},
		"events": {kept.Events, func(b *bundle, at time.Time) {
			row, err := events.Row(events.Entry{Scope: b.Scope, Data: events.SubjectExportedData{}, At: at, SubjectUID: b.Subject.UID, Subject: "user-4711", Actor: "cli:test"})
			require.NoError(t, err)
			require.NoError(t, events.InsertEvent(t.Context(), b.Store.Q, row, false))
		}, "select count(*) from events where type = 'subject.exported' and data is not null", "retention.executed"},
		"research": {kept.Research, func(b *bundle, at time.Time) {
			b.Exec(`insert into research_vectors (id, environment_id, pseudonym, device_class, vector, created_at) values ($1, $2, '\x01', 'desktop', '\x01', $3)`,
				at.String(), b.Scope.Environment, at)
		}, "select count(*) from research_vectors", "research.vectors_removed"},
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			b := keeping(t, kept)
			c.add(b, now)
			c.add(b, now.Add(time.Millisecond))
			require.Zero(t, b.run(t, "retention-"+class, c.keep), "not before its retention has passed")
			require.Equal(t, 1, b.run(t, "retention-"+class, c.keep+time.Microsecond))
			require.Equal(t, 1, b.Count(c.left))
			require.Equal(t, 1, b.Events(c.event))
			require.Equal(t, 1, b.Count("select (data->>'removed')::int from events where type = $1", c.event))
			require.Equal(t, 1, b.run(t, "retention-"+class, c.keep+time.Hour))
			require.Zero(t, b.Count(c.left))
		})
	}
}

// Rows that are pending, active or without limit stay, however old they are.
func TestRetentionKeepsRowsInUse(t *testing.T) {
	t.Parallel()
	r := upkeep.DefaultRetention()
	r.Authorizations = 30 * day
	b := keeping(t, r)
	const century = 36500 * day
	b.session("ses_1", "active", now)
	b.Exec(`insert into templates (id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version, data,
		created_at, updated_at) values ('t', $1, $2, $3, 'keystroke', 'desktop', 1, 'active', 'm', '\x00', $4, $4)`,
		b.Scope.Tenant, b.Scope.Environment, b.Subject.UID, now)
	b.Hold(time.Hour, 1)
	b.Challenge(time.Hour, "passkey")
	for _, class := range []audit.Expiring{audit.ExpiringSessions, audit.ExpiringTemplates, audit.ExpiringAuthorizations, audit.ExpiringEvents} {
		require.Zero(t, b.run(t, "retention-"+string(class), century), class)
	}
	b.Exec("update holds set status = 'expired'")
	b.Exec("update challenges set status = 'expired'")
	require.Equal(t, 2, b.run(t, "retention-authorizations", century))
	require.Zero(t, b.Count("select (select count(*) from holds) + (select count(*) from challenges)"), "an authorization is deleted with its dependent rows")
}

// Of the backgrounds that an environment learned, those stay that are in force, that templates in force were trained with, and the newest.
func TestRetentionDeletesBackgroundsNoLongerInUse(t *testing.T) {
	t.Parallel()
	r := upkeep.DefaultRetention()
	b := keeping(t, r)
	for number, status := range []string{"retired", "retired", "refused", "candidate", "active", "refused"} {
		b.Exec(`insert into environment_backgrounds (version, environment_id, tenant_id, modality, number, status, source, people, changes, body,
			comparison, made_at, retired_at) values ($1, $2, $3, 'keystroke', $4, $5, 'own', 30, 30, '\x00', '{}', $6, $7)`,
			fmt.Sprintf("bg-%d", number), b.Scope.Environment, b.Scope.Tenant, number, status, now,
			map[bool]*time.Time{true: &now}[status == "retired"])
	}
	b.Exec(`insert into templates (id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version, data,
		created_at, updated_at) values ('t', $1, $2, $3, 'keystroke', 'desktop', 1, 'active', 'bg-1', '\x00', $4, $4)`,
		b.Scope.Tenant, b.Scope.Environment, b.Subject.UID, now)
	require.Zero(t, b.run(t, "retention-backgrounds", r.Templates), "not before its retention has passed")
	require.Equal(t, 3, b.run(t, "retention-backgrounds", r.Templates+time.Microsecond))
	require.Zero(t, b.run(t, "retention-backgrounds", 36500*day))
	require.Equal(t, 3, b.Count("select count(*) from environment_backgrounds where version in ('bg-1', 'bg-4', 'bg-5')"))
	require.Equal(t, 1, b.Events("retention.executed"))
}

func TestHousekeepingDeletesTechnicalRows(t *testing.T) {
	t.Parallel()
	b := keeping(t, upkeep.DefaultRetention())
	c := b.Challenge(time.Hour, "passkey")
	b.Exec("insert into challenge_links (mac, environment_id, challenge_id, credential_id, created_at, expires_at) values ('\\x01', $3, $1, 'crd_1', $2, $2)", c.ID, now, c.EnvironmentID)
	b.Exec("insert into idempotency_keys (environment_id, credential_id, key, operation, request_hash, created_at) values ($2, 'c', 'k', 'o', '\\x00', $1)", now, c.EnvironmentID)
	b.Exec("insert into quotas (bucket, full_at) values ('b', $1)", now)
	require.Equal(t, 1, b.run(t, "retention", day), "a quota that is full")
	require.Equal(t, 2, b.run(t, "retention", day+time.Microsecond), "link and key")
	require.Equal(t, 1, b.Count("select count(*) from challenges"), "the challenge of a deleted link stays")
}

func TestParseRetention(t *testing.T) {
	t.Parallel()
	r, err := upkeep.ParseRetention("")
	require.NoError(t, err)
	require.Equal(t, upkeep.DefaultRetention(), r)
	require.Equal(t, 2555*day, r.Authorizations, "decisions are not stored for ever unless the operator says so")
	r, err = upkeep.ParseRetention(" frames=30d, authorizations=2555d,events=never ,")
	require.NoError(t, err)
	require.Equal(t, 30*day, r.Frames)
	require.Equal(t, 2555*day, r.Authorizations)
	require.Zero(t, r.Events)
	require.Equal(t, upkeep.DefaultRetention().Sessions, r.Sessions)
	for _, bad := range []string{"frames", "frames=30", "frames=0d", "frames=-1d", "frames=never", "frames=1d,frames=2d", "mail=1d", "events=29d", "kept=never", "kept=0d",
		"frames=1.5d", "frames=99999d", "frames=9223372036854775807d", "=1d", "deliveries=6d"} {
		_, err := upkeep.ParseRetention(bad)
		require.Error(t, err, bad)
	}
}
