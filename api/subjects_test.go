package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// subjectsBundle has the handlers of subjects, passkeys and recoveries behind an application without the chain, for a fixed
// caller. Every response is checked against the contract.
type subjectsBundle struct {
	t        *testing.T
	contract *openapi.Contract
	app      *fiber.App
	env      models.Environment
}

func setupSubjects(t *testing.T) *subjectsBundle {
	t.Helper()
	contract, err := openapi.Compile()
	require.NoError(t, err)
	st, c := storetest.New(t), clock.NewFake(storetest.Epoch)
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &subjectsBundle{t: t, contract: contract, env: storetest.Environment(t, st, models.Sandbox)}
	issued, err := identity.New(st, keys, c).Issue(t.Context(), storetest.Scope(b.env), identity.Issue{Scope: models.ScopeServer, Name: "test"}, "cli:test", "")
	require.NoError(t, err)
	b.app = fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true, UnescapePath: true, ErrorHandler: func(c *fiber.Ctx, err error) error {
		if p := problem.As(err); p != nil {
			return c.Status(problem.Of(p.Code).Status).SendString(string(p.Code))
		}
		return c.Status(http.StatusInternalServerError).SendString(err.Error())
	}})
	b.app.Use(func(c *fiber.Ctx) error {
		request.SetPrincipal(c, identity.Principal{
			TenantID: b.env.TenantID, EnvironmentID: b.env.ID, Kind: b.env.Kind, CredentialID: issued.Credential.ID, Scope: models.ScopeServer, RequestID: "req_1",
		})
		return c.Next()
	})
	s := &subjectHandlers{Subjects: subject.New(st, keys, nil, c)}
	p := &passkeyHandlers{Passkeys: passkey.New(st, keys, c)}
	r := &recoveryHandlers{Recoveries: recovery.New(st, c, backgrounds.Counter{})}
	const one = "/api/v1/subjects/:subject_id"
	b.app.Get("/api/v1/subjects", s.list)
	b.app.Post("/api/v1/subjects", s.create)
	b.app.Get(one, s.get)
	b.app.Delete(one, s.erase)
	b.app.Post(one+"/adaptation/freeze", s.freeze)
	b.app.Post(one+"/revoke", s.revoke)
	b.app.Post(one+"/export", s.export)
	b.app.Post(one+"/research-consent", s.consent)
	b.app.Get(one+"/passkeys", p.list)
	b.app.Post(one+"/passkeys/registration-grants", p.grant)
	b.app.Post(one+"/passkeys/register/options", p.options)
	b.app.Post(one+"/passkeys/register/complete", p.complete)
	b.app.Delete(one+"/passkeys/:passkey_id", p.revoke)
	b.app.Get(one+"/recovery", r.get)
	b.app.Post(one+"/recovery", r.begin)
	return b
}

// call makes a request and checks the response against the contract. An empty body is not sent.
func (b *subjectsBundle) call(operation, method, path, body string, want int) []byte {
	b.t.Helper()
	req := httptest.NewRequestWithContext(b.t.Context(), method, "/api/v1/subjects"+path, bytes.NewBufferString(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := b.app.Test(req, -1)
	require.NoError(b.t, err)
	defer func() { _ = res.Body.Close() }()
	out, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	require.Equal(b.t, want, res.StatusCode, "%s", out)
	if want < 300 && want != http.StatusNoContent {
		require.NoError(b.t, b.contract.ValidateResponse(operation, want, out), "%s", out)
	}
	return out
}

func TestSubjectHandlersFollowTheContract(t *testing.T) {
	t.Parallel()
	b := setupSubjects(t)
	b.call("createSubject", "POST", "", `{"id":"user-1"}`, 201)
	require.Equal(t, "subject_exists", string(b.call("createSubject", "POST", "", `{"id":"user-1"}`, 409)))
	b.call("createSubject", "POST", "", ``, 201)
	require.JSONEq(t, `{"id":"user-1","environment":"`+b.env.ID+`","status":"active","enrollment":"none","adaptation_frozen":false,
		"research_consent":false,"passkeys":[],"created_at":"2026-03-01T09:00:00.000Z","updated_at":"2026-03-01T09:00:00.000Z","revoked_at":null}`,
		string(b.call("getSubject", "GET", "/user-1", "", 200)))
	require.Equal(t, "not_found", string(b.call("getSubject", "GET", "/unknown", "", 404)))
	b.call("listSubjects", "GET", "?limit=1", "", 200)
	b.call("listSubjects", "GET", "?status=active&enrollment=none", "", 200)

	for body, frozen := range map[string]bool{"": true, `{}`: true, `{"frozen":false}`: false, `{"frozen":true,"reason":"misuse"}`: true} {
		var v wire.Subject
		require.NoError(t, json.Unmarshal(b.call("freezeAdaptation", "POST", "/user-1/adaptation/freeze", body, 200), &v))
		require.Equal(t, frozen, v.AdaptationFrozen, body)
	}
	b.call("setResearchConsent", "POST", "/user-1/research-consent", `{"consented":true}`, 200)
	b.call("exportSubject", "POST", "/user-1/export", "", 200)
	b.call("revokeSubject", "POST", "/user-1/revoke", "", 200)
	b.call("revokeSubject", "POST", "/user-1/revoke", `{"reason":"gone"}`, 200)
	b.call("deleteSubject", "DELETE", "/user-1", "", 202)
	require.Equal(t, "not_found", string(b.call("deleteSubject", "DELETE", "/user-1", "", 404)))
	b.call("createSubject", "POST", "", `{"id":"user-1"}`, 201)
}

func TestPasskeyHandlersFollowTheContract(t *testing.T) {
	t.Parallel()
	b := setupSubjects(t)
	b.call("createSubject", "POST", "", `{"id":"user-1"}`, 201)
	var grant struct{ Token string }
	require.NoError(t, json.Unmarshal(b.call("createPasskeyGrant", "POST", "/user-1/passkeys/registration-grants", "", 201), &grant))
	raw := b.call("passkeyRegisterOptions", "POST", "/user-1/passkeys/register/options", `{"registration_grant":"`+grant.Token+`"}`, 200)
	options, err := virtualwebauthn.ParseAttestationOptions(string(raw))
	require.NoError(t, err)

	device, key := virtualwebauthn.NewAuthenticator(), virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeRSA)
	rp := virtualwebauthn.RelyingParty{ID: b.env.RPID, Origin: b.env.RPOrigins[0]}
	made := virtualwebauthn.CreateAttestationResponse(rp, device, key, *options)
	body := `{"registration_grant":"` + grant.Token + `","credential":` + made + `}`
	var registered struct{ ID string }
	require.NoError(t, json.Unmarshal(b.call("passkeyRegisterComplete", "POST", "/user-1/passkeys/register/complete", body, 201), &registered))
	require.Equal(t, "grant_invalid", string(b.call("passkeyRegisterComplete", "POST", "/user-1/passkeys/register/complete", body, 403)))

	require.Contains(t, string(b.call("getSubject", "GET", "/user-1", "", 200)), registered.ID)
	require.Contains(t, string(b.call("listPasskeys", "GET", "/user-1/passkeys", "", 200)), registered.ID)
	require.Empty(t, b.call("revokePasskey", "DELETE", "/user-1/passkeys/"+registered.ID, "", 204))
	require.Equal(t, "not_found", string(b.call("revokePasskey", "DELETE", "/user-1/passkeys/psk_unknown", "", 404)))
	require.NotContains(t, string(b.call("getSubject", "GET", "/user-1", "", 200)), registered.ID)
	require.Contains(t, string(b.call("listPasskeys", "GET", "/user-1/passkeys", "", 200)), registered.ID, "revoked passkeys are still listed")
}

func TestRecoveryHandlersFollowTheContract(t *testing.T) {
	t.Parallel()
	b := setupSubjects(t)
	b.call("createSubject", "POST", "", `{"id":"user-1"}`, 201)
	require.Equal(t, "not_found", string(b.call("getRecovery", "GET", "/user-1/recovery", "", 404)))
	require.Equal(t, "validation_error", string(b.call("beginRecovery", "POST", "/user-1/recovery", `{"anchor":"idp"}`, 422)))
	require.Equal(t, "anchor_unavailable", string(b.call("beginRecovery", "POST", "/user-1/recovery", `{"anchor":"passkey","anchor_evidence_ref":"12345678"}`, 409)))
	b.call("beginRecovery", "POST", "/user-1/recovery", `{"anchor":"none","reference":"HELP-4711"}`, 201)
	require.Equal(t, "recovery_in_progress", string(b.call("beginRecovery", "POST", "/user-1/recovery", `{"anchor":"none","anchor_evidence_ref":null}`, 409)))
	var v struct {
		Status      string
		Limitations []string
		Reference   string
	}
	require.NoError(t, json.Unmarshal(b.call("getRecovery", "GET", "/user-1/recovery", "", 200), &v))
	require.Equal(t, []string{"recovery_cap"}, v.Limitations)
	require.Equal(t, "HELP-4711", v.Reference)
	require.Equal(t, "pending", v.Status)
}
