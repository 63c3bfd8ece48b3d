package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// decision returns a decision with a proof, made at a time, with keys of its own.
func decision(at time.Time, w, n int) *store.Decision {
	id := func(prefix string) string { return ids.Lowest(prefix, at)[:22] + fmt.Sprintf("%02d%06d", w, n) }
	key := fmt.Sprintf("key-%d-%d", w, n)
	a := models.Authorization{ID: id("azn"), TenantID: "tnt_1", EnvironmentID: "env_1", CredentialID: "crd_1", ActionID: "act_1", ActionKey: "a",
		SubjectUID: "sub_1", Nonce: fmt.Sprintf("nonce-%d-%d", w, n), IdempotencyKey: &key, RequestHash: []byte(key), RequestedAt: at, DecidedAt: at,
		Mode: "enforce", Decision: "allow", ReasonCodes: models.Strings{}, Coverage: "none", Response: []byte(`{"id":"` + key + `"}`),
		Assurance: models.JSON("{}"), Explanation: models.JSON("{}")}
	return &store.Decision{Authorization: a, Proof: &models.Proof{JTI: id("prf"), TenantID: "tnt_1", EnvironmentID: "env_1", AuthorizationID: a.ID,
		SubjectUID: "sub_1", Status: "active", IssuedAt: at, ExpiresAt: at, Sealed: []byte(key)}}
}

// decider is a process that decides.
type decider struct {
	st   *store.Store
	asOf time.Time
}

func newDecider(t *testing.T, url string) decider {
	t.Helper()
	st, err := store.Open(t.Context(), url, store.Options{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	d := decider{st: st}
	require.NoError(t, st.Pool().QueryRow(t.Context(), "select updated_at from subjects where uid = 'sub_1'").Scan(&d.asOf))
	return d
}

func (p decider) write(ctx context.Context, d *store.Decision) error {
	d.SubjectAsOf = p.asOf
	written, err := p.st.Decisions().Insert(ctx, d)
	if !written && err == nil {
		return fmt.Errorf("%s was not written", d.Authorization.ID)
	}
	return err
}

// repeat requires that a decision that is stored is found again by its key, and that its nonce is refused under another.
func (p decider) repeat(ctx context.Context, d *store.Decision) error {
	f, err := p.st.Decisions().FactsFor(ctx, store.Scope{Tenant: "tnt_1", Environment: "env_1"}, store.Wanted{Subject: "user-1", IdempotencyKey: *d.Authorization.IdempotencyKey})
	if err != nil {
		return err
	}
	if f.Prior == nil || string(f.Prior.Response) != string(d.Authorization.Response) || string(f.Prior.RequestHash) != string(d.Authorization.RequestHash) {
		return fmt.Errorf("%s has the response %+v", d.Authorization.ID, f.Prior)
	}
	_, proof, err := p.st.Proofs().Issued(ctx, store.Scope{Tenant: "tnt_1", Environment: "env_1"}, f.Prior.ID)
	if err != nil || string(proof.Sealed) != string(d.Proof.Sealed) {
		return fmt.Errorf("%s has the proof %+v: %w", d.Authorization.ID, proof, err)
	}
	if err := p.write(ctx, d); err != nil && !store.Violates(err, "authorizations_idempotency") {
		return fmt.Errorf("%s written again, as after a lost acknowledgement: %w", d.Authorization.ID, err)
	}
	for _, c := range []struct{ nonce, key, violates string }{
		{d.Authorization.Nonce, "other", "authorizations_nonce"},
		{"other", *d.Authorization.IdempotencyKey, "authorizations_idempotency"},
	} {
		other := decision(d.Authorization.DecidedAt.Add(time.Second), 99, 0)
		other.Authorization.Nonce, other.Authorization.IdempotencyKey = c.nonce, &c.key
		if err := p.write(ctx, other); !store.Violates(err, c.violates) {
			return fmt.Errorf("%s of %s used again: %w", c.violates, d.Authorization.ID, err)
		}
	}
	return nil
}

// Decisions are made while their table is divided, by processes that do not know of it: a key of any time stays unique, and a repetition
// returns what was stored.
func TestPartitionKeepsTheKeysOfDecisions(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	ctx := t.Context()
	now := time.Now()
	url := st.Pool().Config().ConnString()
	var stop atomic.Bool
	var writers sync.WaitGroup
	failures := make(chan error, 3)
	first := make([]*store.Decision, 3)
	var written atomic.Int64
	for w := range 3 {
		p := newDecider(t, url)
		first[w] = decision(now, w, 0)
		require.NoError(t, p.write(ctx, first[w]))
		written.Add(1)
		writers.Go(func() {
			last := first[w]
			for n := 1; !stop.Load() && n < 30000; n++ {
				d := decision(now.Add(time.Duration(n)*time.Millisecond), w, n)
				err := p.write(ctx, d)
				if err == nil && n%10 == 0 {
					err = p.repeat(ctx, last)
				}
				if err != nil {
					failures <- err
					return
				}
				last = d
				written.Add(1)
			}
		})
	}
	made, err := st.Partition(ctx, now, shown)
	stop.Store(true)
	writers.Wait()
	require.NoError(t, err)
	require.Equal(t, len(models.PartitionedTables), made)
	close(failures)
	require.NoError(t, <-failures)
	for _, table := range []string{"authorizations", "proofs", "decision_keys"} {
		require.Equal(t, fmt.Sprint(written.Load()), pairs(t, st, "select count(*)::text, '' from "+table)[0][0], table)
	}

	// In another partition, by a process that has seen nothing of the division, and by one that was there.
	for i, p := range []decider{newDecider(t, url), {st: st, asOf: newDecider(t, url).asOf}} {
		require.NoError(t, p.repeat(ctx, first[i]))
		later := decision(now.AddDate(0, 3, 0), 50, i)
		require.NoError(t, p.write(ctx, later))
		require.NoError(t, p.repeat(ctx, later))
		again := decision(now.AddDate(0, 3, 0), 60, i)
		again.Authorization.Nonce = first[i].Authorization.Nonce
		require.True(t, store.Violates(p.write(ctx, again), "authorizations_nonce"), "a nonce of the first partition")
		fresh := newDecider(t, url)
		again.Authorization.Nonce = "fresh"
		again.Authorization.IdempotencyKey = first[i].Authorization.IdempotencyKey
		require.True(t, store.Violates(fresh.write(ctx, again), "authorizations_idempotency"), "a key of the first partition")
	}
}

// A decision that is erased or past its retention frees its keys and takes its parts with it, also without foreign keys.
func TestDividedDecisionsAreDeletedWhole(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	ctx := t.Context()
	p := newDecider(t, st.Pool().Config().ConnString())
	old, recent := decision(partNow, 1, 1), decision(partNow, 1, 2)
	held := decision(partNow, 1, 3)
	held.Proof, held.Authorization.Decision = nil, "hold"
	held.Hold = &models.Hold{AuthorizationID: held.Authorization.ID, TenantID: "tnt_1", EnvironmentID: "env_1", ActionID: "act_1", SubjectUID: "sub_1", RiskClass: "high",
		Status: "pending", ApprovalsRequired: 1, OpenedAt: partNow, RemindAt: partNow, DueAt: partNow}
	require.NoError(t, p.write(ctx, old))
	_, err := st.Partition(ctx, partNow, shown)
	require.NoError(t, err)
	require.NoError(t, p.write(ctx, recent))
	require.NoError(t, p.write(ctx, held))
	counts := func() (out []string) {
		for _, table := range []string{"authorizations", "proofs", "holds", "decision_keys", "move_requests"} {
			out = append(out, pairs(t, st, "select count(*)::text, '' from "+table)[0][0])
		}
		return out
	}
	_, err = st.Pool().Exec(ctx, `insert into move_requests (authorization_id, environment_id, target, digest, move, actor, request_id, requested_at)
		select id, environment_id, id, '', 'cancel', '', '', now() from authorizations`)
	require.NoError(t, err)
	require.Equal(t, []string{"3", "2", "1", "3", "3"}, counts())
	require.NoError(t, p.repeat(ctx, old))

	_, err = st.Pool().Exec(ctx, "update authorizations set decided_at = decided_at + interval '1 year' where id = $1", recent.Authorization.ID)
	require.NoError(t, err)
	gone, err := st.Retention().Expire(ctx, store.ExpiringAuthorizations, partNow.AddDate(0, 1, 0), partNow, 10)
	require.NoError(t, err)
	require.Equal(t, []store.EnvironmentCount{{Tenant: "tnt_1", Environment: "env_1", Rows: 1}}, gone, "a pending hold and a later decision stay")
	require.Equal(t, []string{"2", "1", "1", "2", "2"}, counts())
	require.NoError(t, p.write(ctx, old), "its keys are free")

	removed, _, err := st.Erasures().EraseRows(ctx, "env_1", "sub_1", 10)
	require.NoError(t, err)
	require.EqualValues(t, 3, removed["authorizations"])
	require.Equal(t, []string{"0", "0", "0", "0", "0"}, counts())
}

// A partition whose decisions have expired is dropped with their keys and parts. It stays while a hold in it is pending.
func TestDropPartitionsDropsDecisions(t *testing.T) {
	t.Parallel()
	st := divided(t)
	ctx := t.Context()
	p := newDecider(t, st.Pool().Config().ConnString())
	first, second := decision(partNow, 1, 1), decision(partNow.AddDate(0, 1, 0), 1, 2)
	require.NoError(t, p.write(ctx, first))
	require.NoError(t, p.write(ctx, second))
	_, err := st.Pool().Exec(ctx, `insert into holds (authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status, opened_at, remind_at, due_at)
		values ($1, 'tnt_1', 'env_1', 'act_1', 'sub_1', 'high', 'pending', now(), now(), now())`, first.Authorization.ID)
	require.NoError(t, err)
	for _, status := range []string{"pending", "rejected"} {
		_, err = st.Pool().Exec(ctx, "update holds set status = $1", status)
		require.NoError(t, err)
		rows, err := st.DropPartitions(ctx, "authorizations", time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC), func(*store.Q, []store.EnvironmentCount) error { return nil })
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"pending": 0, "rejected": 1}[status], rows, status)
	}
	for table, rows := range map[string]string{"authorizations": "1", "proofs": "1", "decision_keys": "1", "holds": "0"} {
		require.Equal(t, rows, pairs(t, st, "select count(*)::text, '' from "+table)[0][0], table)
	}
	require.NoError(t, p.repeat(ctx, second))
	require.NoError(t, p.write(ctx, first), "its keys are free")
}
