package integration_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// After everything that changes, removes and restores records, nothing is found: not in the database, not in an export, not in the console.
// After one change by another hand each of them finds it.
func TestVerificationIsCleanAfterEverything(t *testing.T) {
	t.Parallel()
	address, namespace := temporaltest.Namespace(t)
	temporal, old, fresh := workflows.DialOptions{Address: address, Namespace: namespace}, keyring.Generate(), keyring.Generate()
	settings := wiring.Settings{DatabaseURL: testenv.Database(t), Keys: ringOf(t, old)}
	p := separateProcess(t, settings, temporal)
	require.NoError(t, p.Check(t.Context()))
	w := newWorldAt(t, p, createTenantAt(t, p).Sandbox)

	w.tamperedRecords(t)
	expiring := adding("a", "b")
	expiring["add"].([]object)[0]["expires_at"] = time.Now().AddDate(0, 0, 1)
	w.Server.post(t, w.listOf(t, object{"name": "expiring", "kind": "text"})+"/entries", expiring).is(200)
	retained(t, p)
	w.evidenceOfEveryKind(t)
	restored := deletedAndRestored(t, p)

	settings.Keys = ringOf(t, fresh, old)
	both := open(t, wiring.Settings{Log: shared.log, DatabaseURL: settings.DatabaseURL, BaseURL: p.BaseURL, Keys: settings.Keys, MaxConns: 2})
	require.NoError(t, both.Check(t.Context()))
	scopes := []pg.Scope{w.scope()}
	for _, env := range restored {
		scopes = append(scopes, pg.Scope{Tenant: env.TenantID, Environment: env.ID})
	}
	for _, scope := range append(scopes, scopes...) { // what signs is then sealed by the new master key
		_, err := both.Signing.Rotate(t.Context(), scope, "cli:test")
		require.NoError(t, err)
	}
	require.NoError(t, masterkey.Retire(t.Context(), masterkey.Retirement{
		Store: both.Store, Keys: both.Keys, ID: ringOf(t, old).ActiveID(), Lost: true, Now: time.Now(),
	}))
	settings.Keys = ringOf(t, fresh)
	p = separateProcess(t, settings, temporal)
	require.NoError(t, p.Check(t.Context()))
	w = newWorldAt(t, p, w.Environment)

	auditor := w.signedIn(t, models.RoleAuditor)
	page := func() string { return auditor.get("/console/" + w.ID + "/audit/verify").body }
	const clean, changed = "Nothing was changed.", "were changed outside of the service"
	for _, scope := range scopes {
		result, err := audit.Verify(t.Context(), p.Store, scope, nil)
		require.NoError(t, err)
		require.Empty(t, result.Findings)
		require.Empty(t, exportedFindings(t, p, scope))
	}
	require.Contains(t, page(), clean)

	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) // #nosec G115 -- a seed
	var seen string
	require.NoError(t, p.Store.Pool().QueryRow(t.Context(), `select event_id from audit_chain where environment_id = $1 order by md5(event_id) limit 1`,
		w.ID).Scan(&seen))
	entry := func(change string) { // always of the same entry: the log goes on meanwhile
		_, err := p.Store.Pool().Exec(t.Context(), "update events set actor = "+change+" where id = $2 and environment_id = $1", w.ID, seen)
		require.NoError(t, err)
	}
	entry("actor || 'x'")
	require.NotEmpty(t, w.verified(t).Findings)
	require.NotEmpty(t, exportedFindings(t, p, w.scope()))
	require.Contains(t, page(), changed)
	entry("left(actor, -1)")
	require.Contains(t, page(), clean)

	names := []string{"authorizations", "challenges", "holds", "proofs", "reviews", "subjects", "list_entries"}
	edits := w.edits(t, pg.TableOf(names[random.IntN(len(names))]))
	random.Shuffle(len(edits), func(i, j int) { edits[i], edits[j] = edits[j], edits[i] })
	refused := errors.New("the schema refuses the edit, or it has no effect")
	made := slices.ContainsFunc(edits, func(e edit) bool {
		if e.column == "row_mac" {
			return false // found when the row is read
		}
		err := p.Store.Write(t.Context(), func(q *pg.Q) error {
			made, err := e.make(t, q)
			if err == nil && !made {
				return refused
			}
			return err
		})
		if !errors.Is(err, refused) {
			require.NoError(t, err, e.name())
		}
		return err == nil
	})
	require.True(t, made)
	require.NotEmpty(t, w.verified(t).Findings)
	require.Contains(t, page(), changed)
	require.Empty(t, exportedFindings(t, p, w.scope()), "the log is as it was")
}

func ringOf(t *testing.T, keys ...string) *keyring.Keyring {
	t.Helper()
	ring, err := keyring.Parse(strings.Join(keys, ","))
	require.NoError(t, err)
	return ring
}

// retained deletes everything that is older than now and settled, as upkeep does in a month.
func retained(t *testing.T, p *wiring.Process) {
	t.Helper()
	const month = 30 * 24 * time.Hour
	r := upkeep.DefaultRetention()
	for _, class := range []*time.Duration{&r.Frames, &r.Digests, &r.Sessions, &r.Templates, &r.Authorizations, &r.Details, &r.Kept, &r.Aggregates, &r.Notes, &r.Events, &r.Research} {
		*class = month
	}
	tasks, err := upkeep.New(upkeep.RetentionTasks(upkeep.RetentionDeps{Store: p.Store, Research: research.New(p.Store, p.Keys, true), Retention: r})...)
	require.NoError(t, err)
	at, removed := time.Now().Add(month), map[string]int{}
	for _, task := range tasks.Tasks() {
		for more := true; more; {
			var n int
			n, more, err = tasks.Run(t.Context(), task.Name, at, "upkeep/test")
			require.NoError(t, err, task.Name)
			removed[task.Name] += n
		}
	}
	for _, name := range []string{"retention-authorizations", "retention-events", "list-entries"} {
		require.NotZero(t, removed[name], name)
	}
}

// deletedAndRestored deletes a tenant with records and restores it from a copy, and returns its environments.
func deletedAndRestored(t *testing.T, p *wiring.Process) []models.Environment {
	t.Helper()
	w := newWorldAt(t, p, createTenantAt(t, p).Sandbox)
	_, allows := w.action(t, "enforce", allowing)
	w.authorize(t, w.subject(t), allows, "allow")
	w.listOf(t, object{"name": "blocked", "kind": "text"}, "a", "b")
	for _, issued := range w.issued {
		require.NoError(t, p.Identity.Revoke(t.Context(), w.scope(), identity.Revocation{ID: issued.ID}, "cli:test", ""))
	}
	directly := func(url string) *pg.Store {
		st, err := pg.Open(context.WithoutCancel(t.Context()), url, pg.Options{MaxConns: 1, Keys: p.Keys})
		require.NoError(t, err)
		t.Cleanup(st.Close)
		return st
	}
	backup := directly(testenv.Database(t))
	_, err := tenancy.New(backup, p.Signing, p.Clock, nil).Restore(t.Context(), p.Store, w.TenantID, "cli:test")
	require.NoError(t, err)
	service := tenancy.New(directly(p.DatabaseURL), p.Signing, p.Clock, nil)
	_, err = service.Delete(t.Context(), w.TenantID, t.Name(), "cli:test")
	require.NoError(t, err)
	done, err := service.Restore(t.Context(), backup, w.TenantID, "cli:test")
	require.NoError(t, err)
	return done.Environments
}

// exportedFindings are those of the verification of an export of the whole log.
func exportedFindings(t *testing.T, p *wiring.Process, scope pg.Scope) []audit.Finding {
	t.Helper()
	head, err := audit.SignedHead(t.Context(), p.Store.Q, scope, p.Signing, p.Clock)
	require.NoError(t, err)
	var lines bytes.Buffer
	_, err = audit.Export(t.Context(), p.Store, scope, audit.Range{}, head, &lines)
	require.NoError(t, err)
	result, err := audit.VerifyExport(t.Context(), keysOfScope{p.Signing, scope}, &lines)
	require.NoError(t, err)
	return result.Findings
}

// keysOfScope are the keys of an environment, whose tenant an export does not name.
type keysOfScope struct {
	*signing.Service
	scope pg.Scope
}

func (k keysOfScope) VerifyDocument(ctx context.Context, _ pg.Scope, typ, compact string) ([]byte, error) {
	return k.Service.VerifyDocument(ctx, k.scope, typ, compact)
}
