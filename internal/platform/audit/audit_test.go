package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bundle is an environment with a log and a sealer.
type bundle struct {
	t      *testing.T
	st     *pg.Store
	scope  pg.Scope
	sealer *audit.Sealer
}

func setup(t *testing.T) *bundle {
	t.Helper()
	st := testenv.TamperedStore(t)
	b := &bundle{t: t, st: st, sealer: &audit.Sealer{Store: st, Clock: clock.NewFake(noon)}}
	b.scope = b.environment("tnt_1", "env_1")
	return b
}

func (b *bundle) environment(tenant, env string) pg.Scope {
	b.t.Helper()
	ctx := b.t.Context()
	_, err := b.st.Pool().Exec(ctx, "insert into tenants values ($1, 'Test', $2) on conflict do nothing", tenant, noon)
	require.NoError(b.t, err)
	require.NoError(b.t, tenancy.CreateEnvironment(ctx, b.st.Q, models.Environment{ID: env, TenantID: tenant, Kind: models.Sandbox, RPID: "localhost",
		Settings: models.Settings{RPName: "Test", ChallengeTTLSeconds: 300, HoldTTLSeconds: 259200}, CreatedAt: noon}))
	return pg.Scope{Tenant: tenant, Environment: env}
}

func (b *bundle) entry(i int) events.Entry {
	return events.Entry{Scope: b.scope, At: noon.Add(time.Duration(i) * time.Second),
		Subject: fmt.Sprintf("user-%d", i), SubjectUID: fmt.Sprintf("sub_%d", i), Actor: "credential:crd_1", RequestID: "req_1",
		Data: events.SubjectConsentChangedData{Consented: true, VectorsRemoved: new(int64(i))}}
}

// log writes n entries, each in a transaction of its own, and seals them.
func (b *bundle) log(n int) {
	b.t.Helper()
	for i := range n {
		require.NoError(b.t, b.st.Write(b.t.Context(), func(q *pg.Q) error { return events.Append(b.t.Context(), q, b.entry(i)) }))
	}
	b.seal()
}

func (b *bundle) seal() {
	b.t.Helper()
	_, err := b.sealer.SealAll(b.t.Context())
	require.NoError(b.t, err)
}

// insertNumbered inserts an event by hand, under a number of its own.
const insertNumbered = `insert into events (id, seq, tenant_id, environment_id, type, at, actor, digest) overriding system value
	values ($1, 0, 'tnt_1', 'env_1', 'subject.created', $2, 'cli:mallory', $3)`

// pass lets time pass on the clock of the database, as far as the sealer knows, and seals what came late.
func (b *bundle) pass(d time.Duration) {
	b.t.Helper()
	for range 2 { // a mark is made, and becomes old
		b.age(d)
		_, err := b.sealer.SealLate(b.t.Context())
		require.NoError(b.t, err)
	}
}

// age makes the sealer's marks older.
func (b *bundle) age(d time.Duration) {
	b.t.Helper()
	b.exec(`update audit_heads set marks = coalesce((select jsonb_agg(jsonb_set(m, '{at}', to_jsonb((m->>'at')::timestamptz - make_interval(secs => $1))))
		from jsonb_array_elements(marks) m), '[]')`, d.Seconds())
}

func (b *bundle) verify(earlier *audit.Head) audit.Result {
	b.t.Helper()
	r, err := audit.Verify(b.t.Context(), b.st, b.scope, earlier)
	require.NoError(b.t, err)
	// The rows of the environment are inserted without an entry.
	r.Findings = slices.DeleteFunc(r.Findings, func(f audit.Finding) bool {
		return f.Kind == audit.Unsupported && strings.HasPrefix(f.Field, "environment")
	})
	return r
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	tag, err := b.st.Pool().Exec(b.t.Context(), sql, args...)
	require.NoError(b.t, err)
	require.NotZero(b.t, tag.RowsAffected(), "the tampering must change something")
}

func TestAnIntactChainVerifies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(7)
	r := b.verify(nil)
	require.True(t, r.Intact(), "%v", r.Findings)
	require.EqualValues(t, 7, r.Entries)
	require.EqualValues(t, 7, r.Sequence)
	require.Zero(t, r.Waiting)
}

func TestAnEmptyChainVerifies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.verify(nil)
	require.True(t, r.Intact())
	require.Equal(t, audit.Text(audit.Genesis("env_1")), r.Hash)
}

func TestTamperingIsFoundAndPlaced(t *testing.T) {
	t.Parallel()
	third := "(select event_id from audit_chain where seq = 3)"
	for name, c := range map[string]struct {
		sql  []string
		kind audit.Kind
		seq  int64
	}{
		"actor changed":            {[]string{"update events set actor = 'credential:crd_2' where id = " + third}, audit.Altered, 3},
		"type changed":             {[]string{"update events set type = 'subject.revoked' where id = " + third}, audit.Altered, 3},
		"time changed":             {[]string{"update events set at = at + interval '1 microsecond' where id = " + third}, audit.Altered, 3},
		"decision added":           {[]string{"update events set decision = 'allow' where id = " + third}, audit.Altered, 3},
		"data changed":             {[]string{`update events set data = '{"consented": false}' where id = ` + third}, audit.Altered, 3},
		"subject changed":          {[]string{"update events set subject = 'user-9' where id = " + third}, audit.Altered, 3},
		"digest and data changed":  {[]string{`update events set data = '{}', digest = '00' where id = ` + third}, audit.Altered, 3},
		"digest that is none":      {[]string{"update events set digest = 'none' where id = " + third}, audit.Altered, 3},
		"data dropped, not erased": {[]string{"update events set data = null, salt = null where id = " + third}, audit.Altered, 3},
		"entry removed":            {[]string{"delete from events where id = " + third}, audit.Removed, 3},
		"link removed":             {[]string{"delete from audit_chain where seq = 3"}, audit.Removed, 3},
		"entry and link removed": {[]string{"delete from events where id = " + third,
			"delete from audit_chain where seq = 3"}, audit.Removed, 3},
		"two entries swapped in the chain": {[]string{`update audit_chain c set event_id = o.event_id || '!' from audit_chain o where c.seq in (3, 4) and o.seq = 7 - c.seq`,
			"update audit_chain set event_id = rtrim(event_id, '!') where seq in (3, 4)"}, audit.Altered, 3},
		"links renumbered": {[]string{"update audit_chain set seq = -seq where seq in (3, 4)",
			"update audit_chain set seq = 7 + seq where seq < 0"}, audit.Reordered, 3},
		"hash changed":    {[]string{`update audit_chain set hash = '\x00' where seq = 3`}, audit.Altered, 3},
		"tail cut":        {[]string{"delete from audit_chain where seq > 3"}, audit.Truncated, 4},
		"head moved back": {[]string{"update audit_heads set seq = 3"}, audit.Altered, 5},
		"head forged":     {[]string{`update audit_heads set hash = '\x00'`}, audit.Altered, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.log(5)
			require.True(t, b.verify(nil).Intact())
			for _, sql := range c.sql {
				b.exec(sql)
			}
			r := b.verify(nil)
			require.NotEmpty(t, r.Findings)
			require.Equal(t, c.kind, r.Findings[0].Kind, "%+v", r.Findings)
			require.Equal(t, c.seq, r.Findings[0].Sequence, "%+v", r.Findings)
		})
	}
}

func TestAnEntrySlippedInIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(5)
	b.pass(time.Hour)
	row, err := events.Row(b.entry(9))
	require.NoError(t, err)
	b.exec(insertNumbered, row.ID, row.At, row.Digest)
	r := b.verify(nil)
	require.Len(t, r.Findings, 1)
	require.Equal(t, audit.Inserted, r.Findings[0].Kind)
	require.Equal(t, row.ID, r.Findings[0].Event)
}

func TestErasureLeavesTheChainWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(5)
	asked, done := noon.Add(time.Minute), noon.Add(2*time.Minute)
	_, err := b.st.Pool().Exec(t.Context(), `insert into erasures (id, tenant_id, environment_id, status, requested_by, requested_at, completed_at, removed)
		values ('ers_1', $1, $2, 'completed', 'credential:crd_1', $3, $4, '{"events": 1}')`, b.scope.Tenant, b.scope.Environment, asked, done)
	require.NoError(t, err)
	for _, e := range []events.Entry{
		{At: asked, Data: events.SubjectErasureRequestedData{Erasure: "ers_1"}},
		{At: done, Data: events.SubjectErasedData{Erasure: "ers_1", Removed: new(int64(1)), Events: new(int64(1)), Kinds: []string{"events 1"}}},
	} {
		e.Scope, e.Actor = b.scope, "credential:crd_1"
		require.NoError(t, events.Append(t.Context(), b.st.Q, e))
	}
	b.seal()
	n, err := audit.EraseEvents(t.Context(), b.st.Q, b.scope.Environment, "sub_3", done, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	r := b.verify(nil)
	require.True(t, r.Intact(), "%v", r.Findings)
	require.EqualValues(t, 1, r.Erased)
	b.exec("update events set decision = 'allow' where erased_at is not null")
	require.False(t, b.verify(nil).Intact(), "what is not personal stays under the chain")
}

func TestAnEntryMadeToLookErasedIsFound(t *testing.T) {
	t.Parallel()
	const gone = "subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = "
	run := "(select at from events where type = 'retention.executed')"
	retained := events.RetentionExecutedData{Class: "events", Removed: 1, OlderThan: apitime.Time(noon.AddDate(0, 11, 0))}
	frames, older := retained, retained
	frames.Class, older.OlderThan = "frames", apitime.Time(noon.AddDate(-1, 0, 0))
	for name, c := range map[string]struct {
		set  string
		run  events.RetentionExecutedData
		kind audit.Kind // empty: intact
	}{
		"at no time of an erasure":       {gone + "at + interval '1 hour'", retained, audit.Unsupported},
		"by retention of something else": {gone + run, frames, audit.Unsupported},
		"by retention of older entries":  {gone + run, older, audit.Unsupported},
		"by retention":                   {gone + run, retained, ""},
		"with other data":                {`salt = null, data = '{"forged": true}', erased_at = ` + run, retained, audit.Altered},
		"with a subject":                 {strings.Replace(gone, "subject = null", "subject = 'someone-else'", 1) + run, retained, audit.Altered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.log(5)
			e := events.Entry{Scope: b.scope, At: noon.AddDate(1, 0, 0), Actor: "workflow:upkeep", Data: c.run}
			require.NoError(t, events.Append(t.Context(), b.st.Q, e))
			b.seal()
			b.exec("update events set " + c.set + " where subject_uid = 'sub_3'")
			r := b.verify(nil)
			if c.kind == "" {
				require.True(t, r.Intact(), "%+v", r.Findings)
				return
			}
			require.NotEmpty(t, r.Findings)
			require.Equal(t, c.kind, r.Findings[0].Kind, "%+v", r.Findings)
		})
	}
}

func TestARewrittenChainIsFoundByAnEarlierHead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(3)
	head, err := audit.SignedHead(t.Context(), b.st.Q, b.scope, plainSigner{}, clock.NewFake(noon))
	require.NoError(t, err)
	require.NoError(t, audit.CheckHead(t.Context(), b.scope, plainSigner{}, head))
	require.True(t, b.verify(&head).Intact())

	b.exec("update events set actor = 'credential:crd_2' where subject = 'user-1'")
	b.exec("delete from audit_chain")
	b.exec("delete from audit_heads")
	b.seal()
	require.True(t, b.verify(nil).Intact(), "by itself a chain made anew is whole")
	r := b.verify(&head)
	require.Len(t, r.Findings, 1)
	require.EqualValues(t, 3, r.Findings[0].Sequence)

	b.exec("delete from audit_chain where seq > 1")
	b.exec("update audit_heads set seq = 1, hash = (select hash from audit_chain)")
	kinds := []audit.Kind{}
	for _, f := range b.verify(&head).Findings {
		kinds = append(kinds, f.Kind)
	}
	require.Contains(t, kinds, audit.Truncated)
}

func TestAHeadMustBeWhatWasSigned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(2)
	head, err := audit.SignedHead(t.Context(), b.st.Q, b.scope, plainSigner{}, clock.NewFake(noon))
	require.NoError(t, err)
	changed := head
	changed.Sequence++
	require.Error(t, audit.CheckHead(t.Context(), b.scope, plainSigner{}, changed))
	require.Error(t, audit.CheckHead(t.Context(), pg.Scope{Tenant: "tnt_1", Environment: "env_2"}, plainSigner{}, head))
}

func TestManySealersMakeOneChain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.environment("tnt_2", "env_2")
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Add(2)
		go func() {
			defer wg.Done()
			for i := range 20 {
				e := b.entry(w*100 + i)
				if i%2 == 0 {
					e.Scope = other
				}
				if err := b.st.Write(t.Context(), func(q *pg.Q) error { return events.Append(t.Context(), q, e) }); err != nil {
					t.Error(err)
				}
			}
		}()
		go func() {
			defer wg.Done()
			for range 10 {
				if _, err := b.sealer.SealAll(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	b.seal()
	r := b.verify(nil)
	require.True(t, r.Intact(), "%v", r.Findings)
	require.EqualValues(t, 40, r.Entries)
	b.scope = other
	require.EqualValues(t, 40, b.verify(nil).Entries)
}

// An export is verified by itself: whole, from a time on, and not after a line was changed, removed or cut off.
func TestAnExportVerifiesByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(4)
	head, err := audit.SignedHead(t.Context(), b.st.Q, b.scope, plainSigner{}, clock.NewFake(noon))
	require.NoError(t, err)
	export := func(r audit.Range) string {
		var out bytes.Buffer
		_, err := audit.Export(t.Context(), b.st, b.scope, r, head, &out)
		require.NoError(t, err)
		return out.String()
	}
	verify := func(text string) (audit.Result, error) {
		return audit.VerifyExport(t.Context(), plainChecker{b.scope}, strings.NewReader(text))
	}
	since := noon.Add(time.Second)
	whole, part := export(audit.Range{}), export(audit.Range{Since: &since})
	for text, entries := range map[string]int64{whole: 4, part: 3} {
		r, err := verify(text)
		require.NoError(t, err)
		require.True(t, r.Intact(), "%+v", r.Findings)
		require.Equal(t, entries, r.Entries)
		require.Equal(t, head.Hash, r.Hash)
	}
	lines := strings.SplitAfter(whole, "\n")
	for name, c := range map[string]struct {
		text string
		kind audit.Kind
	}{
		"data":      {strings.Replace(whole, `"consented":true`, `"consented":false`, 1), audit.Altered},
		"actor":     {strings.Replace(whole, "credential:crd_1", "credential:crd_2", 1), audit.Altered},
		"removed":   {strings.Join(slices.Delete(slices.Clone(lines), 2, 3), ""), audit.Removed},
		"reordered": {lines[0] + lines[2] + lines[1] + lines[3] + lines[4], audit.Removed},
		"time":      {strings.Replace(whole, `Z","actor"`, `0Z","actor"`, 1), audit.Altered},
		"target":    {strings.Replace(whole, `"target":"`, `"target":"x`, 1), audit.Altered},
		"twice":     {strings.Replace(whole, `"kind":`, `"kind":"subject.erased","kind":`, 1), audit.Altered},
		"member":    {strings.Replace(whole, `"kind":`, `"note":"paid","kind":`, 1), audit.Altered},
		"cut off":   {strings.Join(lines[:4], ""), audit.Truncated},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := verify(c.text)
			require.NoError(t, err)
			require.NotEmpty(t, r.Findings)
			require.Equal(t, c.kind, r.Findings[0].Kind)
		})
	}
	_, err = verify(strings.Join(lines[1:], ""))
	require.ErrorContains(t, err, "no head")
	_, err = verify(strings.Replace(whole, `"sequence":4`, `"sequence":3`, 1))
	require.ErrorContains(t, err, "not what was signed")
}

// plainChecker checks heads of plainSigner without their tenant, which an export does not name.
type plainChecker struct{ scope pg.Scope }

func (c plainChecker) VerifyDocument(ctx context.Context, _ pg.Scope, typ, compact string) ([]byte, error) {
	return plainSigner{}.VerifyDocument(ctx, c.scope, typ, compact)
}

// plainSigner stands in for the environment's key: what it signs is readable and what it did not sign is refused.
type plainSigner struct{}

func (plainSigner) SignDocument(_ context.Context, s pg.Scope, typ string, payload []byte) (string, error) {
	return s.Tenant + "." + typ + "." + string(payload), nil
}

func (plainSigner) VerifyDocument(_ context.Context, s pg.Scope, typ, compact string) ([]byte, error) {
	payload, ok := strings.CutPrefix(compact, s.Tenant+"."+typ+".")
	if !ok {
		return nil, fmt.Errorf("not signed here")
	}
	return []byte(payload), nil
}
