package authorization_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// A decision, its proof and its event are read in psql, without this program: no column is null, and only what is sealed is bytes.
func TestADecisionIsReadInPlainSQL(t *testing.T) {
	t.Parallel()
	st := newPlainWorld(t)
	d := decision(plainNow, 1)
	write(t, st, d)
	require.Equal(t, [][2]string{
		{"assurance", `{"subject": "user-1"}`}, {"decision", "allow"}, {"event", `{"mode": "enforce"}`}, {"event digest", "ab"}, {"event salt", "0102"},
		{"explanation", `[{"requirement": "subject"}]`}, {"reason_codes", "{met}"}, {"request_hash", "6b65792d31"},
		{"resource_digest", "sha256:resource"}, {"response", `{"id": "key-1"}`},
	}, storetest.Pairs(t, st, `with d as (select * from authorizations), e as (select * from events)
		select 'decision', decision from d union all select 'reason_codes', reason_codes::text from d
		union all select 'assurance', assurance::text from d union all select 'explanation', explanation::text from d
		union all select 'response', response::text from d union all select 'resource_digest', resource_digest from d
		union all select 'request_hash', request_hash from d union all select 'event', data::text from e
		union all select 'event digest', digest from e union all select 'event salt', salt from e order by 1`))
	require.Equal(t, [][2]string{{"authorizations", "row_mac"}, {"proofs", "row_mac"}, {"proofs", "sealed"}, {"reviews", "row_mac"}}, storetest.Pairs(t, st, `select table_name, column_name from information_schema.columns
		where table_schema = 'public' and table_name in ('authorizations', 'proofs', 'events', 'reviews') and data_type = 'bytea' order by 1, 2`))
	facts, err := authorization.ReadFacts(t.Context(), st.Q, plainScope, authorization.Wanted{Subject: "user-1", IdempotencyKey: "key-1"})
	require.NoError(t, err)
	require.JSONEq(t, string(d.Authorization.Response), string(facts.Prior.Response))
	require.JSONEq(t, string(d.Authorization.Assurance), string(facts.Prior.Assurance))
	require.Equal(t, d.Authorization.RequestHash, facts.Prior.RequestHash)
}

// fullDecision is a decision that writes to every table that a decision can write to.
func fullDecision(at time.Time, n int) *authorization.Decision {
	d := decision(at, n)
	a := &d.Authorization
	d.Challenge = &models.Challenge{ID: "chl" + a.ID[3:], TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, AuthorizationID: a.ID, SubjectUID: a.SubjectUID,
		Status: models.ChallengeOpen, Display: models.JSON("{}"), Random: []byte{1}, CreatedAt: at, ExpiresAt: at}
	d.Hold = &models.Hold{AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, ActionID: a.ActionID, SubjectUID: a.SubjectUID,
		RiskClass: "high", Status: models.HoldPending, ApprovalsRequired: 1, OpenedAt: at, RemindAt: at, DueAt: at}
	d.Teams = []models.HoldTeam{{AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, Team: "finance", Approvals: 1}}
	d.Details = &models.ShownDetails{AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, SubjectUID: a.SubjectUID, Details: []byte{1}, DecidedAt: at}
	d.Kept = &models.KeptValues{AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, SubjectUID: a.SubjectUID, Kept: []byte{1}, DecidedAt: at}
	d.Outbox = []models.Outbox{{Topic: "hold.start", EnvironmentID: a.EnvironmentID, Ref: a.ID, Payload: models.JSON("{}"), CreatedAt: at, AvailableAt: at}}
	return d
}

// written counts the rows of the tables that a decision writes to.
const written = `select 'rows', (select count(*) from authorizations) + (select count(*) from proofs) + (select count(*) from challenges)
	+ (select count(*) from holds) + (select count(*) from hold_teams) + (select count(*) from shown_details) + (select count(*) from kept_values)
	+ (select count(*) from events) + (select count(*) from outbox) || ''`

// Whichever statement fails, nothing of the decision is there, and the connection serves the next one.
func TestADecisionIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	st, err := pg.Open(t.Context(), newPlainWorld(t).Pool().Config().ConnString(), pg.Options{Keys: testenv.Keys(), MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	first := fullDecision(plainNow, 0)
	write(t, st, first)
	require.Equal(t, [][2]string{{"rows", "11"}}, storetest.Pairs(t, st, written))
	for name, c := range map[string]struct {
		change   func(d *authorization.Decision)
		violates string // empty: the subject has changed
	}{
		"the subject has changed":    {func(d *authorization.Decision) { d.SubjectAsOf = d.SubjectAsOf.Add(-time.Second) }, ""},
		"the subject is gone":        {func(d *authorization.Decision) { d.Authorization.SubjectUID = "sub_gone" }, ""},
		"the idempotency key is old": {func(d *authorization.Decision) { d.Authorization.IdempotencyKey = first.Authorization.IdempotencyKey }, "authorizations_idempotency"},
		"the nonce is old":           {func(d *authorization.Decision) { d.Authorization.Nonce = first.Authorization.Nonce }, "authorizations_nonce"},
		"the proof":                  {func(d *authorization.Decision) { d.Proof.JTI = first.Proof.JTI }, "proofs_pkey"},
		"the challenge":              {func(d *authorization.Decision) { d.Challenge.ID = first.Challenge.ID }, "challenges_pkey"},
		"the hold":                   {func(d *authorization.Decision) { d.Hold.AuthorizationID = first.Hold.AuthorizationID }, "holds_pkey"},
		"a team":                     {func(d *authorization.Decision) { d.Teams = append(d.Teams, d.Teams[0]) }, "hold_teams_pkey"},
		"the details":                {func(d *authorization.Decision) { d.Details.AuthorizationID = first.Authorization.ID }, "shown_details_pkey"},
		"the kept values":            {func(d *authorization.Decision) { d.Kept.AuthorizationID = first.Authorization.ID }, "kept_values_pkey"},
		"the last event":             {func(d *authorization.Decision) { d.Events = append(d.Events, first.Events[0]) }, "events_pkey"},
		"the last work":              {func(d *authorization.Decision) { d.Outbox[0].Payload = models.JSON("no JSON") }, "outbox"},
	} {
		t.Run(name, func(t *testing.T) {
			d := fullDecision(plainNow, 1)
			c.change(d)
			done, err := authorization.InsertDecision(t.Context(), st.Q, d)
			require.False(t, done)
			switch c.violates {
			case "":
				require.NoError(t, err)
			case "outbox":
				require.ErrorContains(t, err, "json")
			default:
				require.True(t, pg.Violates(err, c.violates), "%v", err)
			}
			require.Equal(t, [][2]string{{"rows", "11"}}, storetest.Pairs(t, st, written))
		})
	}
	write(t, st, fullDecision(plainNow, 1))
	require.Equal(t, [][2]string{{"rows", "22"}}, storetest.Pairs(t, st, written))
}

// In a transaction a decision whose subject has changed takes all of it back.
func TestADecisionThatIsRefusedEndsItsTransaction(t *testing.T) {
	t.Parallel()
	st := newPlainWorld(t)
	d := decision(plainNow, 1)
	d.SubjectAsOf = d.SubjectAsOf.Add(time.Second)
	err := st.Write(t.Context(), func(q *pg.Q) error {
		if err := outbox.Insert(t.Context(), q, models.Outbox{Topic: "t", EnvironmentID: "env_1", Payload: models.JSON("{}")}); err != nil {
			return err
		}
		done, err := authorization.InsertDecision(t.Context(), q, d)
		require.False(t, done)
		return err
	})
	require.Error(t, err)
	require.Equal(t, [][2]string{{"rows", "0"}}, storetest.Pairs(t, st, written))
}

// Of concurrent decisions with one idempotency key, or one nonce, one is written.
func TestOneOfConcurrentDecisionsIsWritten(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]func(a, of *models.Authorization){
		"authorizations_idempotency": func(a, of *models.Authorization) { a.IdempotencyKey = of.IdempotencyKey },
		"authorizations_nonce":       func(a, of *models.Authorization) { a.Nonce = of.Nonce },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newPlainWorld(t)
			var all sync.WaitGroup
			var done atomic.Int32
			for n := range 12 {
				d := decision(plainNow, n)
				share(&d.Authorization, &decision(plainNow, 0).Authorization)
				all.Go(func() {
					written, err := authorization.InsertDecision(t.Context(), st.Q, d)
					if written {
						done.Add(1)
					} else if !pg.Violates(err, name) {
						t.Errorf("%v", err)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 1, done.Load())
			require.Equal(t, [][2]string{{"rows", "4"}}, storetest.Pairs(t, st, written))
		})
	}
}

// losing forwards connections to a server until it is armed: then it closes each that the server confirms a COMMIT on, without the
// confirmation.
func losing(t *testing.T, address string) (through string, armed *atomic.Bool) {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	armed = &atomic.Bool{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			closeBoth := func() { _, _ = client.Close(), behind.Close() }
			go func() { defer closeBoth(); forward(client, behind, nil) }()
			go func() {
				defer closeBoth()
				forward(behind, client, func(b []byte) bool { return armed.Load() && bytes.Contains(b, []byte("COMMIT\x00")) })
			}()
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), armed
}

// forward copies what is received, until lose says that the connection is lost with it.
func forward(from, to net.Conn, lose func([]byte) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || lose != nil && lose(buf[:n]) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// A connection that is lost before the server confirms the commit leaves a whole decision: the request fails with 503, and its repeat finds
// the stored response.
func TestADecisionWhoseConfirmationIsLostIsStored(t *testing.T) {
	t.Parallel()
	whole := newPlainWorld(t)
	through, armed := losing(t, whole.Pool().Config().ConnString())
	st, err := pg.Open(t.Context(), through, pg.Options{Keys: testenv.Keys(), MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	write(t, st, decision(plainNow, 1))
	armed.Store(true)
	d := decision(plainNow, 2)
	done, err := authorization.InsertDecision(t.Context(), st.Q, d)
	require.False(t, done)
	require.True(t, pg.IsUnavailable(err), "%v", err)
	armed.Store(false)
	facts, err := authorization.ReadFacts(t.Context(), st.Q, plainScope, authorization.Wanted{Subject: "user-1", IdempotencyKey: *d.Authorization.IdempotencyKey})
	require.NoError(t, err)
	require.Equal(t, d.Authorization.ID, facts.Prior.ID)
	require.True(t, json.Valid(facts.Prior.Response))
	_, err = authorization.InsertDecision(t.Context(), st.Q, d)
	require.True(t, pg.Violates(err, "authorizations_idempotency") || pg.Violates(err, "authorizations_pkey") || pg.Violates(err, "authorizations_nonce"), "%v", err)
	require.Equal(t, [][2]string{{"rows", "8"}}, storetest.Pairs(t, whole, written))
}
