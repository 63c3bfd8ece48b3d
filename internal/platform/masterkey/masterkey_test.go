package masterkey_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// database is a database that processes with different master keys come to.
type database struct {
	*testing.T
	st *pg.Store
}

func setup(t *testing.T) database {
	t.Helper()
	return database{t, storetest.New(t)}
}

func ring(t *testing.T, keys ...string) *keyring.Keyring {
	t.Helper()
	k, err := keyring.Parse(strings.Join(keys, ","))
	require.NoError(t, err)
	return k
}

func (d database) signing(keys *keyring.Keyring) *signing.Service {
	return signing.New(d.st, keys, clock.NewFake(storetest.Epoch), "https://countersign.example")
}

// start performs the check of a starting process.
func (d database) start(keys ...string) error {
	k := ring(d.T, keys...)
	return masterkey.Confirm(d.Context(), masterkey.Confirmation{Store: d.st, Keys: k, Now: storetest.Epoch})
}

// environment makes one with an active and a next signing key, sealed by the first of the keys.
func (d database) environment(keys ...string) pg.Scope {
	d.Helper()
	scope := storetest.Scope(storetest.Environment(d, d.st, models.Sandbox))
	require.NoError(d, d.signing(ring(d.T, keys...)).Establish(d.Context(), d.st.Q, scope, "cli:test"))
	return scope
}

func (d database) recorded() []string {
	d.Helper()
	rows, err := masterkey.ListKeys(d.Context(), d.st.Q)
	require.NoError(d, err)
	ids := make([]string, 0, len(rows))
	for _, r := range rows {
		if r.RetiredAt == nil {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func id(t *testing.T, key string) string {
	t.Helper()
	return ring(t, key).ActiveID()
}

func mismatch(t *testing.T, err error) *masterkey.Mismatch {
	t.Helper()
	var m *masterkey.Mismatch
	require.ErrorAs(t, err, &m)
	require.Contains(t, err.Error(), "COUNTERSIGN_MASTER_KEY")
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), ". ", "one sentence")
	return m
}

func TestConfirmRefusesAWrongMasterKey(t *testing.T) {
	t.Parallel()
	d := setup(t)
	right, wrong := keyring.Generate(), keyring.Generate()
	require.NoError(t, masterkey.Compare(t.Context(), d.st.Q, ring(t, wrong)), "nothing to compare with yet")
	require.NoError(t, d.start(right))
	require.NoError(t, d.start(right))
	m := mismatch(t, d.start(wrong))
	require.True(t, m.Foreign)
	require.Equal(t, []string{id(t, right)}, m.Missing)
	require.Equal(t, []string{id(t, right)}, d.recorded(), "a wrong key is not recorded")
	_ = mismatch(t, masterkey.Compare(t.Context(), d.st.Q, ring(t, wrong)))
	require.ErrorContains(t, masterkey.At("/data/master.key", d.start(wrong)), "/data/master.key does not hold")
	require.Equal(t, errors.ErrUnsupported, masterkey.At("x", errors.ErrUnsupported))
	for _, secret := range []string{right, wrong} {
		require.NotContains(t, fmt.Sprintf("%v %+v", m, *m), secret)
	}
}

// A master key is rotated as docs/operations.md says, one process after the other: at no step is one refused that can read
// everything, and at no step does one start that cannot.
func TestMasterKeysRotateProcessByProcess(t *testing.T) {
	t.Parallel()
	d := setup(t)
	old, fresh := keyring.Generate(), keyring.Generate()
	require.NoError(t, d.start(old))
	require.NoError(t, d.start(old, fresh), "first every process gets the new key, behind the old one")
	require.Equal(t, []string{id(t, old)}, d.recorded(), "it has sealed nothing yet")
	require.NoError(t, d.start(old), "and may be taken back")
	require.NoError(t, d.start(fresh, old), "then it goes in front")
	require.NoError(t, d.start(old, fresh), "while others have it behind")
	require.ElementsMatch(t, []string{id(t, old), id(t, fresh)}, d.recorded())
	m := mismatch(t, d.start(old))
	require.Equal(t, []string{id(t, fresh)}, m.Missing, "what the new key sealed could not be opened")
	require.False(t, m.Foreign)
	m = mismatch(t, d.start(fresh))
	require.Equal(t, []string{id(t, old)}, m.Missing, "what the old key sealed could not be opened")
	require.Contains(t, m.Error(), "countersign key master retire")
}

func TestConfirmTakesTheKeysOfTheFirstOfManyProcesses(t *testing.T) {
	t.Parallel()
	d := setup(t)
	const processes = 6
	errs := make([]error, processes)
	var running sync.WaitGroup
	for i := range processes {
		key := keyring.Generate()
		running.Go(func() { errs[i] = d.start(key) })
	}
	running.Wait()
	started := 0
	for _, err := range errs {
		if err == nil {
			started++
			continue
		}
		_ = mismatch(t, err)
	}
	require.Equal(t, 1, started)
	require.Len(t, d.recorded(), 1)
}

// Without its fingerprints a database cannot show whose it is.
func TestConfirmADatabaseWhoseFingerprintsAreGone(t *testing.T) {
	t.Parallel()
	d := setup(t)
	key := keyring.Generate()
	require.NoError(t, d.start(key))
	d.environment(key)
	testenv.Exec(t, d.st, "delete from master_keys")
	require.True(t, mismatch(t, d.start(key)).Unrecorded)
	require.Empty(t, d.recorded())
}

func (d database) retire(masterID string, lost bool, keys ...string) error {
	held := ring(d.T, keys...)
	return masterkey.Retire(d.Context(), masterkey.Retirement{
		Store: d.st, Keys: held, ID: masterID, Lost: lost, Now: storetest.Epoch,
		Reseal: func(ctx context.Context, q *pg.Q) error { return lists.Reseal(ctx, q, lists.NewVault(held)) },
	})
}

func TestRetireAMasterKey(t *testing.T) {
	t.Parallel()
	d := setup(t)
	old, fresh, wrong := keyring.Generate(), keyring.Generate(), keyring.Generate()
	require.NoError(t, d.start(old))
	scope := d.environment(old)
	require.ErrorContains(t, d.retire(id(t, old), true, old), "is the master key that seals")
	require.NoError(t, d.start(fresh, old))
	require.ErrorContains(t, d.retire("0123456789abcdef", false, fresh, old), "no master key 0123456789abcdef")
	_ = mismatch(t, d.retire(id(t, old), true, wrong))
	require.ErrorContains(t, d.retire(id(t, old), false, fresh, old), "still needed (2 in signing_keys)")

	for range 2 { // the new master key seals the signing keys of two rotations
		_, err := d.signing(ring(t, fresh, old)).Rotate(t.Context(), scope, "cli:test")
		require.NoError(t, err)
	}
	testenv.Exec(t, d.st, "update signing_keys set status = 'retired' where status = 'retiring'")
	keys := ring(t, fresh, old)
	require.NoError(t, d.retire(id(t, old), false, fresh, old))
	require.NoError(t, d.start(fresh))
	require.NoError(t, d.start(fresh, old), "it may stay in the setting")

	issued, err := identity.New(d.st, keys, clock.NewFake(storetest.Epoch)).Issue(t.Context(), scope, identity.Issue{Scope: models.ScopeServer}, "cli:test", "")
	require.NoError(t, err)
	require.NotEmpty(t, issued.Key)
	require.NoError(t, d.start(old, fresh), "a key that seals again is in use again")
	require.ElementsMatch(t, []string{id(t, old), id(t, fresh)}, d.recorded())
}

// A keyed hash does not say which master key it was made with: an API key from before the active master key keeps the
// others in use.
func TestRetireCountsAPIKeys(t *testing.T) {
	t.Parallel()
	d := setup(t)
	old, fresh := keyring.Generate(), keyring.Generate()
	scope := storetest.Scope(storetest.Environment(t, d.st, models.Sandbox))
	require.NoError(t, d.start(old))
	_, err := identity.New(d.st, ring(t, old), clock.NewFake(storetest.Epoch.Add(-1))).Issue(t.Context(), scope, identity.Issue{Scope: models.ScopeServer}, "cli:test", "")
	require.NoError(t, err)
	require.NoError(t, d.start(fresh, old))
	require.ErrorContains(t, d.retire(id(t, old), false, fresh, old), "1 API keys made before the active master key")
	require.NoError(t, d.retire(id(t, old), true, fresh), "a lost key is retired without it")
	require.NoError(t, d.start(fresh))
}

// The secret of a personal list stays the same while the master key that seals it is replaced: its digests keep their meaning.
func TestRetireSealsListsAgain(t *testing.T) {
	t.Parallel()
	d := setup(t)
	old, fresh := keyring.Generate(), keyring.Generate()
	scope := storetest.Scope(storetest.Environment(t, d.st, models.Sandbox))
	service := func(keys ...string) *lists.Service {
		return lists.New(d.st, clock.NewFake(storetest.Epoch), ring(t, keys...))
	}
	require.NoError(t, d.start(old))
	l, err := service(old).Create(t.Context(), scope, lists.By{Actor: "cli:test"}, lists.Draft{Name: "payees", Kind: models.ListText, Personal: true})
	require.NoError(t, err)
	_, err = service(old).Change(t.Context(), scope, lists.By{Actor: "cli:test"}, l.ID, lists.Edit{Add: []lists.NewEntry{{Value: "DE89", Reason: "Known."}}})
	require.NoError(t, err)
	require.NoError(t, d.start(fresh, old))
	require.NoError(t, d.retire(id(t, old), false, fresh, old))
	found, _, err := service(fresh).Entries(t.Context(), scope, l.ID, "de 89", pg.Page{Limit: 2})
	require.NoError(t, err)
	require.Len(t, found, 1)
}
