package passkey_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	subjects "github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

func TestCompleteRegistersAPasskey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{BackupEligible: true, BackupState: true}))
	require.Equal(t, d.credential.ID, d.row.CredentialID)
	require.True(t, d.row.BackupEligible)
	require.True(t, d.row.BackupState)
	require.True(t, d.row.UserVerified)
	require.Equal(t, d.Aaguid[:], d.row.AAGUID)
	require.NotNil(t, passkey.AAGUID(d.row))

	rows, next, err := b.service.List(context.Background(), b.scope, b.subject.ExternalID, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, rows, 1)
	require.Equal(t, d.row.ID, rows[0].ID)
	require.Equal(t, []string{"passkey.registration_granted", "passkey.registered"}, eventTypes(t, b))
}

// Authenticators attest themselves unasked. Whatever they say, the passkey is registered as one without attestation.
func TestAttestationThatNobodyAskedForIsNotVerified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		format    string
		statement any
	}{
		"a signature that is none":     {"packed", map[string]any{"alg": -7, "sig": []byte("none")}},
		"a certificate that is none":   {"packed", map[string]any{"alg": -7, "sig": []byte("none"), "x5c": []any{[]byte("expired")}}},
		"an unknown format":            {"acme-2027", map[string]any{"token": "x"}},
		"an unknown format, as a list": {"acme-2027", []any{1, 2}},
		"an unknown format, as text":   {"acme-2027", "x"},
		"compound":                     {"compound", []any{map[string]any{"fmt": "acme-2027", "attStmt": map[string]any{}}}},
		"compound of none":             {"compound", []any{}},
		"none with a statement":        {"none", map[string]any{"sig": []byte("x")}},
		"safetynet":                    {"android-safetynet", map[string]any{"ver": "1", "response": []byte("x")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, token := b.device(virtualwebauthn.AuthenticatorOptions{}), b.grant(t)
			made := virtualwebauthn.CreateAttestationResponse(b.rp, d.Authenticator, d.credential, b.options(t, token))
			row, err := b.service.Complete(context.Background(), b.principal, b.subject.ExternalID, token, stating(t, made, c.format, c.statement))
			require.NoError(t, err)
			require.Equal(t, "none", row.AttestationType)
			require.Equal(t, d.Aaguid[:], row.AAGUID)
		})
	}
}

// stating replaces the statement of a response.
func stating(t *testing.T, made, format string, statement any) json.RawMessage {
	t.Helper()
	var outer map[string]any
	require.NoError(t, json.Unmarshal([]byte(made), &outer))
	inner := outer["response"].(map[string]any)
	raw, err := base64.RawURLEncoding.DecodeString(inner["attestationObject"].(string))
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, webauthncbor.Unmarshal(raw, &object))
	object["fmt"], object["attStmt"] = format, statement
	raw, err = webauthncbor.Marshal(object)
	require.NoError(t, err)
	inner["attestationObject"] = base64.RawURLEncoding.EncodeToString(raw)
	out, err := json.Marshal(outer)
	require.NoError(t, err)
	return out
}

func TestOptionsExcludeRegisteredPasskeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	options, err := b.service.Options(context.Background(), b.principal, b.subject.ExternalID, b.grant(t), "")
	require.NoError(t, err)
	raw, err := json.Marshal(options)
	require.NoError(t, err)
	var got struct {
		RP struct {
			ID string
		}
		User struct {
			ID, Name string
		}
		Challenge   string
		Attestation string
		Selection   struct {
			ResidentKey      string
			UserVerification string
		} `json:"authenticatorSelection"`
		Exclude []struct{ ID string } `json:"excludeCredentials"`
	}
	require.NoError(t, json.Unmarshal(raw, &got))
	require.Equal(t, "localhost", got.RP.ID)
	require.Equal(t, "none", got.Attestation)
	require.Equal(t, "required", got.Selection.UserVerification)
	require.Equal(t, "preferred", got.Selection.ResidentKey)
	require.Equal(t, encode(d.credential.ID), got.Exclude[0].ID)
	require.Equal(t, encode(passkey.UserHandle(b.subject.UID)), got.User.ID)
	require.NotContains(t, string(raw), b.subject.UID, "the uid is not disclosed")
	require.GreaterOrEqual(t, len(got.Challenge), 43)
}

// A grant is valid for one subject of one environment, for ten minutes and one passkey. Every other use has the same
// response.
func TestGrantIsRejected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	other := storetest.Subject(t, b.store, b.env, "other-user")
	abroad := b.elsewhere(t)
	use := func(p identity.Principal, subject, token string) error {
		_, err := b.service.Options(ctx, p, subject, token, "")
		if err != nil {
			_, second := b.service.Complete(ctx, p, subject, token, json.RawMessage(`{}`))
			requireCode(t, problem.GrantInvalid, second)
		}
		return err
	}
	t.Run("unknown", func(t *testing.T) {
		requireCode(t, problem.GrantInvalid, use(b.principal, b.subject.ExternalID, strings.Repeat("A", 43)))
	})
	t.Run("of a different subject", func(t *testing.T) {
		requireCode(t, problem.GrantInvalid, use(b.principal, other.ExternalID, b.grant(t)))
	})
	t.Run("of a different environment", func(t *testing.T) {
		requireCode(t, problem.GrantInvalid, use(abroad.principal, abroad.subject.ExternalID, b.grant(t)))
	})
	t.Run("expired", func(t *testing.T) {
		token := b.grant(t)
		b.clock.Advance(passkey.GrantLife - time.Microsecond)
		require.NoError(t, use(b.principal, b.subject.ExternalID, token))
		b.clock.Advance(time.Microsecond)
		requireCode(t, problem.GrantInvalid, use(b.principal, b.subject.ExternalID, token))
	})
	t.Run("used", func(t *testing.T) {
		token := b.grant(t)
		d := b.device(virtualwebauthn.AuthenticatorOptions{})
		response := virtualwebauthn.CreateAttestationResponse(b.rp, d.Authenticator, d.credential, b.options(t, token))
		_, err := b.service.Complete(ctx, b.principal, b.subject.ExternalID, token, json.RawMessage(response))
		require.NoError(t, err)
		requireCode(t, problem.GrantInvalid, use(b.principal, b.subject.ExternalID, token))
	})
}

// Only the MAC of a token is stored.
func TestGrantTokenIsNotStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.grant(t)
	b.options(t, token)
	var row string
	require.NoError(t, b.store.Pool().QueryRow(context.Background(), "select to_jsonb(g)::text from registration_grants g").Scan(&row))
	require.NotContains(t, row, token)
	require.NotEmpty(t, row)
}

func TestConcurrentCompletionsRegisterOnePasskey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.grant(t)
	options := b.options(t, token)
	const n = 8
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		d := b.device(virtualwebauthn.AuthenticatorOptions{})
		response := virtualwebauthn.CreateAttestationResponse(b.rp, d.Authenticator, d.credential, options)
		all.Go(func() {
			_, errs[i] = b.service.Complete(context.Background(), b.principal, b.subject.ExternalID, token, json.RawMessage(response))
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		requireCode(t, problem.GrantInvalid, err)
	}
	require.Equal(t, 1, won)
	rows, err := challenge.ActivePasskeys(context.Background(), b.store.Q, b.scope, b.subject.UID)
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

func TestRegistrationIsRejected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	complete := func(token, response string) error {
		_, err := b.service.Complete(ctx, b.principal, b.subject.ExternalID, token, json.RawMessage(response))
		return err
	}
	for name, tc := range map[string]struct {
		device virtualwebauthn.AuthenticatorOptions
		rp     func(*virtualwebauthn.RelyingParty)
		bend   func(*virtualwebauthn.AttestationOptions)
		client func(client map[string]any) // without attestation nothing signs the client data
		detail string
	}{
		"an assertion's client data":   {client: func(c map[string]any) { c["type"] = "webauthn.get" }, detail: "different ceremony"},
		"made in another site's frame": {client: func(c map[string]any) { c["crossOrigin"] = true }, detail: "frame"},
		"a top origin of another site": {client: func(c map[string]any) { c["topOrigin"] = "https://evil.example" }, detail: "frame"},
		"user not verified":            {device: virtualwebauthn.AuthenticatorOptions{UserNotVerified: true}, detail: "did not verify"},
		"user not present":             {device: virtualwebauthn.AuthenticatorOptions{UserNotPresent: true}, detail: "did not see"},
		"backed up but not eligible":   {device: virtualwebauthn.AuthenticatorOptions{BackupState: true}, detail: "does not verify"},
		"another origin":               {rp: func(r *virtualwebauthn.RelyingParty) { r.Origin = "https://evil.example" }, detail: "origin"},
		"another RP ID":                {rp: func(r *virtualwebauthn.RelyingParty) { r.ID = "evil.example" }, detail: "RP ID"},
		"another challenge": {bend: func(o *virtualwebauthn.AttestationOptions) { o.Challenge = []byte("0123456789abcdef0123456789abcdef") },
			detail: "challenge"},
	} {
		t.Run(name, func(t *testing.T) {
			token, rp, d := b.grant(t), b.rp, b.device(tc.device)
			options := b.options(t, token)
			good := options
			if tc.bend != nil {
				tc.bend(&options)
			}
			if tc.rp != nil {
				tc.rp(&rp)
			}
			response := virtualwebauthn.CreateAttestationResponse(rp, d.Authenticator, d.credential, options)
			if tc.client != nil {
				response = withClientData(t, response, tc.client)
			}
			err := complete(token, response)
			requireCode(t, problem.RegistrationRefused, err)
			require.Contains(t, problem.As(err).Detail, tc.detail)

			// The ceremony has ended: the same challenge is not accepted again, a new one is.
			honest := b.device(virtualwebauthn.AuthenticatorOptions{})
			err = complete(token, virtualwebauthn.CreateAttestationResponse(b.rp, honest.Authenticator, honest.credential, good))
			requireCode(t, problem.RegistrationRefused, err)
			err = complete(token, virtualwebauthn.CreateAttestationResponse(b.rp, honest.Authenticator, honest.credential, b.options(t, token)))
			require.NoError(t, err)
		})
	}
	t.Run("not a credential", func(t *testing.T) {
		for _, raw := range []string{`{}`, `[]`, `"x"`, `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`} {
			token := b.grant(t)
			b.options(t, token)
			requireCode(t, problem.RegistrationRefused, complete(token, raw))
		}
	})
	t.Run("registered already", func(t *testing.T) {
		d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
		token := b.grant(t)
		err := complete(token, virtualwebauthn.CreateAttestationResponse(b.rp, d.Authenticator, d.credential, b.options(t, token)))
		requireCode(t, problem.PasskeyExists, err)
	})
}

func TestRevokedSubjectCannotRegister(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	token := b.grant(t)
	require.NoError(t, b.store.Write(ctx, func(q *pg.Q) error {
		_, err := subjects.RevokeSubject(ctx, q, b.scope, b.subject.UID, b.clock.Now())
		return err
	}))
	_, err := b.service.Grant(ctx, b.principal, b.subject.ExternalID)
	requireCode(t, problem.SubjectRevoked, err)
	_, err = b.service.Options(ctx, b.principal, b.subject.ExternalID, token, "")
	requireCode(t, problem.SubjectRevoked, err)
}

func TestUnknownSubjectIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	_, err := b.service.Grant(ctx, b.principal, "unknown")
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	_, _, err = b.service.List(ctx, b.scope, "unknown", pg.Page{Limit: 1})
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	require.Equal(t, problem.NotFoundBy("subject_id"), problem.As(b.service.Revoke(ctx, b.principal, "unknown", "psk_x")))
}

func TestRevokeEndsAPasskey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	d := b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	require.Equal(t, problem.NotFoundBy("passkey_id"), problem.As(b.service.Revoke(ctx, b.principal, b.subject.ExternalID, "psk_unknown")))
	abroad := b.elsewhere(t)
	err := abroad.service.Revoke(ctx, abroad.principal, abroad.subject.ExternalID, d.row.ID)
	require.Equal(t, problem.NotFoundBy("passkey_id"), problem.As(err), "a different tenant's passkey")

	for range 2 { // the second time changes nothing
		require.NoError(t, b.service.Revoke(ctx, b.principal, b.subject.ExternalID, d.row.ID))
	}
	rows, _, err := b.service.List(ctx, b.scope, b.subject.ExternalID, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.NotNil(t, rows[0].RevokedAt)
	require.Equal(t, []string{"passkey.registration_granted", "passkey.registered", "passkey.revoked"}, eventTypes(t, b))
}

func TestGrantLimitsPasskeysPerSubject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	early, late := b.grant(t), b.device(virtualwebauthn.AuthenticatorOptions{})
	response := virtualwebauthn.CreateAttestationResponse(b.rp, late.Authenticator, late.credential, b.options(t, early))
	for range passkey.MaxPasskeys {
		b.register(t, b.device(virtualwebauthn.AuthenticatorOptions{}))
	}
	_, err := b.service.Complete(context.Background(), b.principal, b.subject.ExternalID, early, json.RawMessage(response))
	requireCode(t, problem.Conflict, err)
	_, err = b.service.Grant(context.Background(), b.principal, b.subject.ExternalID)
	requireCode(t, problem.Conflict, err)
}

// withClientData alters the client data of a response.
func withClientData(t *testing.T, response string, bend func(client map[string]any)) string {
	t.Helper()
	var outer map[string]any
	require.NoError(t, json.Unmarshal([]byte(response), &outer))
	inner := outer["response"].(map[string]any)
	raw, err := base64.RawURLEncoding.DecodeString(inner["clientDataJSON"].(string))
	require.NoError(t, err)
	var client map[string]any
	require.NoError(t, json.Unmarshal(raw, &client))
	bend(client)
	raw, err = json.Marshal(client)
	require.NoError(t, err)
	inner["clientDataJSON"] = encode(raw)
	raw, err = json.Marshal(outer)
	require.NoError(t, err)
	return string(raw)
}
