package passkey_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// One case per applicable step of WebAuthn Level 3, section 7.2: a valid response is altered in one place, signed with the
// right key unless the case is about the signature, and must be rejected with the code of that step.
func TestVerifyAssertionRejectsEachStepOfSection72(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	stranger := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)

	for _, tc := range []struct {
		step string
		bend func(*assertion)
		want problem.Code
	}{
		{"3 response is not an assertion response", func(a *assertion) {
			a.cut = func(r map[string]any) { r["response"] = map[string]any{} }
		}, problem.AssertionMalformed},
		{"3 type is not public-key", func(a *assertion) {
			a.cut = func(r map[string]any) { r["type"] = "password" }
		}, problem.AssertionMalformed},
		{"3 id is not that of rawId", func(a *assertion) {
			a.cut = func(r map[string]any) { r["id"] = encode(stranger.ID) }
		}, problem.AssertionMalformed},
		{"5 credential is none of allowCredentials", func(a *assertion) {
			a.id, a.signer = stranger.ID, stranger.Key
		}, problem.AssertionUnknownKey},
		{"6 user handle is another user's", func(a *assertion) {
			a.handle = passkey.UserHandle("sub_of_somebody_else")
		}, problem.AssertionUserHandle},
		{"9 client data is not JSON", func(a *assertion) {
			a.cut = func(r map[string]any) {
				r["response"].(map[string]any)["clientDataJSON"] = encode([]byte("{"))
			}
		}, problem.AssertionMalformed},
		{"11 type is webauthn.create", func(a *assertion) { a.client["type"] = "webauthn.create" }, problem.AssertionMalformed},
		{"12 challenge is other bytes", func(a *assertion) {
			a.client["challenge"] = encode([]byte("0123456789abcdef0123456789abcdef"))
		}, problem.AssertionChallenge},
		{"12 challenge in another alphabet", func(a *assertion) {
			a.client["challenge"] = a.client["challenge"].(string) + "="
		}, problem.AssertionChallenge},
		{"13 origin is another site", func(a *assertion) { a.client["origin"] = "https://evil.example" }, problem.AssertionOrigin},
		{"13 origin is another port", func(a *assertion) { a.client["origin"] = "http://localhost:8081" }, problem.AssertionOrigin},
		{"13 origin is a subdomain", func(a *assertion) { a.client["origin"] = "http://a.localhost:8080" }, problem.AssertionOrigin},
		{"13 origin has a slash", func(a *assertion) { a.client["origin"] = a.client["origin"].(string) + "/" }, problem.AssertionOrigin},
		{"13 origin is in upper case", func(a *assertion) { a.client["origin"] = strings.ToUpper(a.client["origin"].(string)) }, problem.AssertionOrigin},
		{"13 origin is missing", func(a *assertion) { delete(a.client, "origin") }, problem.AssertionOrigin},
		{"14 made in another site's frame", func(a *assertion) {
			a.client["crossOrigin"], a.client["topOrigin"] = true, "https://evil.example"
		}, problem.AssertionOrigin},
		{"14 top origin without cross origin", func(a *assertion) { a.client["topOrigin"] = "https://evil.example" }, problem.AssertionOrigin},
		{"15 RP ID is another", func(a *assertion) { a.rpID = "evil.example" }, problem.AssertionRPID},
		{"16 user not present", func(a *assertion) { a.flags &^= flagUP }, problem.AssertionUnverified},
		{"17 user not verified", func(a *assertion) { a.flags &^= flagUV }, problem.AssertionUnverified},
		{"18 backed up but not eligible", func(a *assertion) { a.flags |= flagBS }, problem.AssertionBackupFlags},
		{"19 backup eligible, registered as not", func(a *assertion) { a.flags |= flagBE }, problem.AssertionBackupFlags},
		{"20 authenticator data too long", func(a *assertion) { a.extra = []byte{0} }, problem.AssertionMalformed},
		{"20 extensions announced and missing", func(a *assertion) { a.flags |= flagED }, problem.AssertionMalformed},
		{"21 signed by another key", func(a *assertion) { a.signer = stranger.Key }, problem.AssertionSignature},
		{"21 signature is noise", func(a *assertion) { a.signature = []byte("noise") }, problem.AssertionSignature},
		{"21 signature is empty", func(a *assertion) { a.signature = []byte{} }, problem.AssertionSignature},
	} {
		t.Run(tc.step, func(t *testing.T) {
			c := b.challenge(t)
			_, err := b.verify(c, b.answer(t, d, c, tc.bend))
			requireCode(t, tc.want, err)
		})
	}
}

func TestVerifyAssertionAcceptsValidAssertions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, o := range map[string]virtualwebauthn.AuthenticatorOptions{
		"a device-bound passkey":       {},
		"a synced passkey":             {BackupEligible: true, BackupState: true},
		"a passkey that may be synced": {BackupEligible: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := b.register(t, b.device(o))
			c := b.challenge(t)
			row, err := b.verify(c, b.answer(t, d, c, nil))
			require.NoError(t, err)
			require.Equal(t, d.row.ID, row.ID)
			require.EqualValues(t, 1, row.SignCount)
			require.Equal(t, o.BackupState, row.BackupState)
			require.Equal(t, b.clock.Now(), *row.LastUsedAt)
			_, err = b.verify(c, b.answer(t, d, c, func(a *assertion) {
				a.cut = func(r map[string]any) { delete(r["response"].(map[string]any), "userHandle") }
			}))
			require.NoError(t, err, "the user handle is optional if allowCredentials was given")
			_, err = b.verify(c, b.answer(t, d, c, func(a *assertion) {
				a.cut = func(r map[string]any) { r["clientExtensionResults"] = map[string]any{"somePasswordManager": true} }
			}))
			require.NoError(t, err, "unsolicited extension outputs are ignored")
		})
	}
}

// A passkey that was registered as backup eligible cannot lose that flag: a response without it is not from the passkey.
func TestVerifyAssertionRejectsChangedBackupEligibility(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{BackupEligible: true}))
	c := b.challenge(t)
	_, err := b.verify(c, b.answer(t, d, c, func(a *assertion) { a.flags &^= flagBE }))
	requireCode(t, problem.AssertionBackupFlags, err)
}

// The signature covers the challenge's id, its random bytes, the action hash and the display.
func TestVerifyAssertionRejectsADifferentChallengeOrDisplay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	signed := b.challenge(t)
	for name, tc := range map[string]struct {
		change func(*models.Challenge)
		want   problem.Code
	}{
		"another id":          {func(c *models.Challenge) { c.ID += "0" }, problem.AssertionChallenge},
		"other random bytes":  {func(c *models.Challenge) { c.Random = make([]byte, 32) }, problem.AssertionChallenge},
		"another action hash": {func(c *models.Challenge) { c.ActionHash = "sha256:00" }, problem.AssertionChallenge},
		"a changed display": {func(c *models.Challenge) {
			c.Display = models.JSON(strings.Replace(string(c.Display), "Money leaves", "Nothing leaves", 1))
		}, problem.AssertionDisplay},
		"a changed display with its digest": {func(c *models.Challenge) {
			c.Display = models.JSON(strings.Replace(string(c.Display), "Money leaves", "Nothing leaves", 1))
			c.DisplayDigest = digestOf(t, c.Display)
		}, problem.AssertionChallenge},
		"an unreadable display": {func(c *models.Challenge) { c.Display = models.JSON(`{`) }, problem.AssertionDisplay},
	} {
		t.Run(name, func(t *testing.T) {
			c := signed
			tc.change(&c)
			_, err := b.verify(c, b.answer(t, d, signed, nil))
			requireCode(t, tc.want, err)
		})
	}
	reordered := signed
	reordered.Display = models.JSON(" " + strings.Replace(string(signed.Display), ",", " , ", 1))
	_, err := b.verify(reordered, b.answer(t, d, signed, nil))
	require.NoError(t, err, "white space and the order of keys are not part of the display")
}

func digestOf(t *testing.T, display models.JSON) string {
	t.Helper()
	d, err := canonical.Digest(json.RawMessage(display))
	require.NoError(t, err)
	return d
}

// Parts are length-prefixed, so moving bytes from one part to the next changes the challenge.
func TestChallengeBytesSeparatesParts(t *testing.T) {
	t.Parallel()
	a := models.Challenge{ID: "chl_1", ActionHash: "sha256:ab", Random: []byte("rr"), Display: models.JSON(`{}`)}
	b := a
	b.ID, b.ActionHash = "chl_1s", "ha256:ab"
	first, err := passkey.ChallengeBytes(a)
	require.NoError(t, err)
	second, err := passkey.ChallengeBytes(b)
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.Len(t, first, 32)
}

func TestVerifyAssertionAcceptsTheSubjectsPasskeysOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	own := b.subject
	other := *b
	other.subject = storetest.Subject(t, b.store, b.env, "other-user")
	theirs := other.register(t, other.device(virtualwebauthn.AuthenticatorOptions{}))
	foreign := b.elsewhere(t)
	abroad := foreign.register(t, foreign.device(virtualwebauthn.AuthenticatorOptions{}))

	for name, device := range map[string]*authenticator{"another subject's": theirs, "another tenant's": abroad} {
		t.Run(name, func(t *testing.T) {
			c := b.challenge(t)
			_, err := b.verify(c, b.answer(t, device, c, func(a *assertion) { a.handle = passkey.UserHandle(own.UID) }))
			requireCode(t, problem.AssertionUnknownKey, err)
		})
	}
	t.Run("a revoked passkey", func(t *testing.T) {
		require.NoError(t, b.service.Revoke(context.Background(), b.principal, own.ExternalID, d.row.ID))
		c := b.challenge(t)
		_, err := b.verify(c, b.answer(t, d, c, nil))
		requireCode(t, problem.AssertionUnknownKey, err)
	})
}

// spend makes the assertion of the passkey used.
func (b *bundle) spend(t *testing.T, key models.Passkey) {
	t.Helper()
	batch := &pgx.Batch{}
	challenge.QueueSpend(batch, spending(key), b.clock.Now())
	require.NoError(t, b.store.Transaction(t.Context(), batch))
}

// The library accepts a counter that decreased and only sets a flag.
func TestVerifyAssertionRejectsAClone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	c := b.challenge(t)
	row, err := b.verify(c, b.answer(t, d, c, func(a *assertion) { a.counter = 7 }))
	require.NoError(t, err)
	b.spend(t, row)

	for _, counter := range []uint32{0, 6, 7} {
		c := b.challenge(t)
		_, err := b.verify(c, b.answer(t, d, c, func(a *assertion) { a.counter = counter }))
		requireCode(t, problem.AssertionCloned, err)
	}
	rows, err := challenge.ActivePasskeys(context.Background(), b.store.Q, b.scope, b.subject.UID)
	require.NoError(t, err)
	require.True(t, rows[0].CloneWarning)
	require.EqualValues(t, 7, rows[0].SignCount)
	require.Contains(t, eventTypes(t, b), "passkey.clone_warning")
}

// An assertion that is sent twice concurrently may find its counter already stored by the other request. That is not a
// clone: its challenge is settled by then.
func TestRepeatedAssertionOfASettledChallengeIsNotAClone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	c := b.challenge(t)
	sent := b.answer(t, d, c, func(a *assertion) { a.counter = 7 })
	row, err := b.verify(c, sent)
	require.NoError(t, err)

	b.spend(t, row)
	b.world.Exec("update challenges set status = 'completed' where id = $1", c.ID)
	_, err = b.verify(c, sent)
	requireCode(t, problem.ChallengeClosed, err)
	require.Zero(t, b.world.Events("passkey.clone_warning"))

	b.world.Exec("update challenges set status = 'open' where id = $1", c.ID)
	_, err = b.verify(c, sent)
	requireCode(t, problem.AssertionCloned, err)
	require.Equal(t, 1, b.world.Events("passkey.clone_warning"))
}

// Authenticators without a counter always report zero.
func TestVerifyAssertionAcceptsAnAuthenticatorWithoutCounter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	for range 2 {
		c := b.challenge(t)
		row, err := b.verify(c, b.answer(t, d, c, func(a *assertion) { a.counter = 0 }))
		require.NoError(t, err)
		b.spend(t, row)
	}
}

func TestAssertionOptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.challenge(t)
	_, err := b.service.AssertionOptions(context.Background(), b.scope, c, "")
	requireCode(t, problem.MethodNotOffered, err)

	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	options, err := b.service.AssertionOptions(context.Background(), b.scope, c, "")
	require.NoError(t, err)
	raw, err := json.Marshal(options)
	require.NoError(t, err)
	want, err := passkey.ChallengeBytes(c)
	require.NoError(t, err)
	require.JSONEq(t, `{"challenge":"`+encode(want)+`","timeout":300000,"rpId":"localhost","userVerification":"required",
		"allowCredentials":[{"type":"public-key","id":"`+encode(d.credential.ID)+`"}]}`, string(raw))
}

func eventTypes(t *testing.T, b *bundle) []string {
	t.Helper()
	rows, err := b.store.Pool().Query(context.Background(), "select type from events where environment_id = $1 order by seq", b.env.ID)
	require.NoError(t, err)
	types, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return types
}

// spending is a request that uses the assertion of a passkey.
func spending(p models.Passkey) models.MoveRequest {
	return models.MoveRequest{EnvironmentID: p.EnvironmentID, PasskeyID: &p.ID, SignCount: &p.SignCount, BackupState: &p.BackupState}
}
