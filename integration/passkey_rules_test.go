package integration_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
)

// app is the origin of an Android app: the SHA-256 of its signing certificate.
var app = "android:apk-key-hash:" + base64.RawURLEncoding.EncodeToString(make([]byte, sha256.Size))

// passkeyRules sets rules of passkeys.
func (w world) passkeyRules(t *testing.T, rules object) {
	t.Helper()
	w.Admin.patch(t, environmentPath, object{"passkeys": rules}).is(200)
}

// givenRPID gives the tenant an RP ID of its own and returns it.
func (w world) givenRPID(t *testing.T) string {
	t.Helper()
	host := "bank-" + apitest.Unique() + ".example"
	_, err := w.process.Tenancy.UpdateRPIDs(t.Context(), w.TenantID, tenancy.RPIDs{Give: []string{host}}, "cli:test")
	require.NoError(t, err)
	return host
}

// beginning is a registration that waits for the response of a device.
type beginning struct {
	world   world
	path    string // of the subject's passkeys
	grant   string
	options *virtualwebauthn.AttestationOptions
	device  *device
}

// begin requests the options of a registration for the relying party rp.
func (w world) begin(t *testing.T, subject string, rp virtualwebauthn.RelyingParty) beginning {
	t.Helper()
	b := beginning{world: w, path: "/api/v1/subjects/" + subject + "/passkeys/"}
	b.grant = w.Server.post(t, b.path+"registration-grants", nil).is(201).string("token")
	body := object{"registration_grant": b.grant}
	if rp.ID != w.RPID {
		body["rp_id"] = rp.ID
	}
	creation := w.Server.post(t, b.path+"register/options", body).is(200)
	require.Equal(t, rp.ID, creation.string("publicKey.rp.id"))
	var err error
	b.options, err = virtualwebauthn.ParseAttestationOptions(string(creation.body))
	require.NoError(t, err)
	b.device = &device{rp: rp, creation: creation.value("publicKey"), credential: newCredential(),
		auth: virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte(b.options.UserID)})}
	return b
}

// complete sends the device's response.
func (b beginning) complete(t *testing.T) response {
	t.Helper()
	return b.send(t, virtualwebauthn.CreateAttestationResponse(b.device.rp, b.device.auth, b.device.credential, *b.options))
}

func (b beginning) send(t *testing.T, credential string) response {
	t.Helper()
	b.device.registration = object{"registration_grant": b.grant, "credential": json.RawMessage(credential)}
	return b.world.Server.post(t, b.path+"register/complete", b.device.registration)
}

// deviceAt registers a passkey for a relying party.
func (w world) deviceAt(t *testing.T, subject string, rp virtualwebauthn.RelyingParty) *device {
	t.Helper()
	b := w.begin(t, subject, rp)
	b.device.id = b.complete(t).is(201).string("id")
	return b.device
}

// completes lets the device complete a new challenge about the subject.
func (d *device) completes(t *testing.T, w world, subject, action string, rpID any) response {
	t.Helper()
	challenge := "/api/v1/challenges/" + w.authorize(t, subject, action, "challenge").string("challenge.id")
	var body any
	if rpID != nil {
		body = object{"rp_id": rpID}
	}
	options := w.Server.post(t, challenge+"/passkey/options", body).is(200)
	return w.Server.post(t, challenge+"/complete", object{"method": "passkey", "assertion": d.assertion(t, options.body)})
}

func TestPasskeysOfAppsAndRelatedSites(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
	subject := w.subject(t)
	related := "https://shop.example"
	for _, origin := range []string{app, related} {
		rp := virtualwebauthn.RelyingParty{ID: "localhost", Origin: origin}
		w.begin(t, subject, rp).complete(t).problem(400, "registration_refused")
	}
	w.Admin.patch(t, environmentPath, object{"origins": []string{"http://localhost:8080", app}, "passkeys": object{"related_origins": []string{related}}}).is(200)
	for _, origin := range []string{app, related} {
		d := w.deviceAt(t, subject, virtualwebauthn.RelyingParty{ID: "localhost", Origin: origin})
		d.completes(t, w, subject, action, nil).is(200)
		d.rp.Origin = origin + "A"
		d.completes(t, w, subject, action, nil).problem(400, "assertion_origin_mismatch")
		w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+d.id).is(204)
	}
	for name, c := range map[string]struct {
		body  object
		fault string
	}{
		"a short hash":          {object{"origins": []string{"android:apk-key-hash:AAAA"}}, `["body","origins",0] value_error`},
		"a padded hash":         {object{"origins": []string{app + "="}}, `["body","origins",0] value_error`},
		"an app shows no pages": {object{"page_origin": app}, `["body","page_origin"] value_error`},
		"a related http site":   {object{"passkeys": object{"related_origins": []string{"http://shop.example"}}}, `["body","passkeys","related_origins",0] value_error`},
		"an RP ID with a port":  {object{"passkeys": object{"rp_ids": []string{"bank.example:8080"}}}, `["body","passkeys","rp_ids",0] value_error`},
		"an origin of no RP ID": {object{"origins": []string{"https://bank.example"}}, `["body","origins",0] value_error`},
		"an AAGUID in capitals": {object{"passkeys": object{"aaguids": []string{"EA9B8D66-4D01-1D21-3CE4-B6B48CB575D4"}}}, `["body","passkeys","aaguids",0] value_error`},
		"text as a root":        {object{"passkeys": object{"attestation_roots": []string{"root"}}}, `["body","passkeys","attestation_roots",0] value_error`},
		"attestation to none":   {object{"passkeys": object{"attestation": "required"}}, `["body","passkeys","attestation_roots"] value_error`},
	} {
		require.Equal(t, []string{c.fault}, w.Admin.patch(t, environmentPath, c.body).faults(), name)
	}
}

func TestRelatedOriginsAreListedForTheirHost(t *testing.T) {
	t.Parallel()
	w, other := newSandbox(t), newSandbox(t)
	host := w.givenRPID(t)
	at := caller{base: w.Server.base}.with("Host", host)
	at.get(t, "/.well-known/webauthn").problem(404, "not_found")
	w.passkeyRules(t, object{"rp_ids": []string{host}, "related_origins": []string{"https://b.example", "https://a.example"}})
	require.Equal(t, []string{"https://a.example", "https://b.example"}, at.get(t, "/.well-known/webauthn").is(200).strings("origins"))
	caller{base: w.Server.base}.with("X-Forwarded-Host", host).get(t, "/.well-known/webauthn").problem(404, "not_found") // no proxy is configured
	other.Admin.patch(t, environmentPath, object{"passkeys": object{"rp_ids": []string{host}, "related_origins": []string{"https://evil.example"}}}).problem(409, "conflict")
	require.Equal(t, []string{"https://a.example", "https://b.example"}, at.get(t, "/.well-known/webauthn").is(200).strings("origins"))
}

func TestSeveralRPIDs(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	bank := w.givenRPID(t)
	_, action := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
	subject := w.subject(t)
	w.Server.post(t, "/api/v1/subjects/"+subject+"/passkeys/register/options", object{
		"registration_grant": w.Server.post(t, "/api/v1/subjects/"+subject+"/passkeys/registration-grants", nil).is(201).string("token"), "rp_id": bank,
	}).is(422)
	w.Admin.patch(t, environmentPath, object{"origins": []string{"http://localhost:8080", "https://login." + bank}, "passkeys": object{"rp_ids": []string{bank}}}).is(200)
	second := w.deviceAt(t, subject, virtualwebauthn.RelyingParty{ID: bank, Origin: "https://login." + bank})
	second.completes(t, w, subject, action, nil).is(200)
	first := w.device(t, subject)
	require.Equal(t, []any{nil, bank}, []any{
		w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list()[0]["rp_id"], w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list()[1]["rp_id"],
	})
	first.completes(t, w, subject, action, nil).is(200)
	second.completes(t, w, subject, action, bank).is(200)
	second.rp.ID = "localhost"
	second.completes(t, w, subject, action, bank).problem(400, "assertion_rp_id_mismatch")
	second.rp.ID = bank

	w.Admin.patch(t, environmentPath, object{"passkeys": object{"rp_ids": []string{}}}).is(422)
	w.Admin.patch(t, environmentPath, object{"origins": []string{"http://localhost:8080"}, "passkeys": object{"rp_ids": []string{}}}).is(200)
	challenge := "/api/v1/challenges/" + w.authorize(t, subject, action, "challenge").string("challenge.id")
	w.Server.post(t, challenge+"/passkey/options", object{"rp_id": bank}).is(422)
	options := w.Server.post(t, challenge+"/passkey/options", nil).is(200)
	w.Server.post(t, challenge+"/complete", object{"method": "passkey", "assertion": second.assertion(t, options.body)}).problem(400, "assertion_rp_id_mismatch")
}

func TestPasskeysAreImported(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
	subject := w.subject(t)
	path := "/api/v1/subjects/" + subject + "/passkeys/import"
	d := &device{rp: virtualwebauthn.RelyingParty{ID: "localhost", Origin: "http://localhost:8080"}, auth: virtualwebauthn.NewAuthenticator(), credential: newCredential()}
	d.credential.Counter = 7
	body := object{
		"credential_id": base64.RawURLEncoding.EncodeToString(d.credential.ID), "public_key": base64.RawURLEncoding.EncodeToString(d.credential.Key.AttestationData()),
		"counter": 7, "flags": object{"user_verified": true, "backup_eligible": false, "backed_up": false}, "transports": []string{"internal"},
	}
	for name, bad := range map[string]object{
		"credential_id": {"credential_id": "a+b"}, "public_key": {"public_key": "AAAA"}, "flags": {"flags": object{"backup_eligible": false, "backed_up": true}},
		"aaguid": {"aaguid": "ea9b8d66-4d01-1d21-3ce4-b6b48cb575dX"}, "rp_id": {"rp_id": "elsewhere.example"},
	} {
		require.Equal(t, []string{`["body","` + name + `"] value_error`}, w.Server.post(t, path, with(body, bad)).faults())
	}
	w.Server.post(t, path, body).is(201)
	w.Server.post(t, path, body).problem(409, "passkey_exists")
	d.completes(t, w, subject, action, nil).is(200)
	d.credential.Counter = 3
	d.completes(t, w, subject, action, nil).problem(400, "assertion_clone_warning")
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'passkey.registered' and data->>'imported' = 'true'", w.ID))

	w.passkeyRules(t, object{"aaguids": []string{uuid.NewString()}})
	w.Server.post(t, path, with(body, object{"credential_id": "AAAA"})).problem(400, "registration_refused")
}

// manufacturer certifies authenticators, as the attestation of the format packed has it.
type manufacturer struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate
}

func newManufacturer(t *testing.T) manufacturer {
	t.Helper()
	m := manufacturer{key: newKey(t)}
	m.root = m.certify(t, &x509.Certificate{Subject: pkix.Name{CommonName: "Root"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}, nil, &m.key.PublicKey)
	return m
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func (m manufacturer) certify(t *testing.T, c, by *x509.Certificate, key *ecdsa.PublicKey) *x509.Certificate {
	t.Helper()
	c.SerialNumber, c.NotBefore, c.NotAfter, c.BasicConstraintsValid = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour), true
	if by == nil {
		by = c
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, by, key, m.key)
	require.NoError(t, err)
	made, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return made
}

func (m manufacturer) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.root.Raw}))
}

// attest replaces the self attestation of a response by one of the manufacturer.
func (m manufacturer) attest(t *testing.T, made string) string {
	t.Helper()
	var credential map[string]any
	require.NoError(t, json.Unmarshal([]byte(made), &credential))
	inner := credential["response"].(map[string]any)
	raw, err := base64.RawURLEncoding.DecodeString(inner["attestationObject"].(string))
	require.NoError(t, err)
	var object struct {
		Format    string         `cbor:"fmt"`
		Statement map[string]any `cbor:"attStmt"`
		AuthData  []byte         `cbor:"authData"`
	}
	require.NoError(t, webauthncbor.Unmarshal(raw, &object))
	client, err := base64.RawURLEncoding.DecodeString(inner["clientDataJSON"].(string))
	require.NoError(t, err)
	key := newKey(t)
	leaf := m.certify(t, &x509.Certificate{Subject: pkix.Name{Country: []string{"DE"}, Organization: []string{"Keys"},
		OrganizationalUnit: []string{"Authenticator Attestation"}, CommonName: "Key"}}, m.root, &key.PublicKey)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(object.AuthData, hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	require.NoError(t, err)
	object.Statement = map[string]any{"alg": -7, "sig": signature, "x5c": []any{leaf.Raw}}
	raw, err = webauthncbor.Marshal(object)
	require.NoError(t, err)
	inner["attestationObject"] = base64.RawURLEncoding.EncodeToString(raw)
	out, err := json.Marshal(credential)
	require.NoError(t, err)
	return string(out)
}

func TestAuthenticatorsMustHaveThePermittedModel(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, site := w.subject(t), virtualwebauthn.RelyingParty{ID: "localhost", Origin: "http://localhost:8080"}
	own, foreign := newManufacturer(t), newManufacturer(t)
	response := func(b beginning) string {
		return virtualwebauthn.CreateAttestationResponse(b.device.rp, b.device.auth, b.device.credential, *b.options)
	}
	model := uuid.UUID(w.begin(t, subject, site).device.auth.Aaguid)
	w.passkeyRules(t, object{"aaguids": []string{uuid.NewString()}})
	b := w.begin(t, subject, site)
	require.Equal(t, "direct", b.device.creation.(map[string]any)["attestation"])
	require.Contains(t, b.complete(t).problem(400, "registration_refused").string("detail"), "passkeys.aaguids")
	w.passkeyRules(t, object{"aaguids": []string{model.String()}})
	known := w.begin(t, subject, site)
	known.device.auth.Aaguid = model
	known.complete(t).is(201)

	w.passkeyRules(t, object{"aaguids": []string{}, "attestation": "required", "attestation_roots": []string{own.pem()}})
	for name, made := range map[string]func(b beginning) string{
		"its own word":           response,
		"of another manufacture": func(b beginning) string { return foreign.attest(t, response(b)) },
	} {
		b := w.begin(t, subject, site)
		require.Contains(t, b.send(t, made(b)).problem(400, "registration_refused").string("detail"), "passkeys.attestation_roots", name)
	}
	b = w.begin(t, subject, site)
	b.send(t, own.attest(t, response(b))).is(201)
	require.Equal(t, 1, count(t, `select count(*) from events where environment_id = $1 and type = 'environment.updated' and jsonb_array_length(data->'attestation_roots') = 1`, w.ID))
	w.Server.post(t, "/api/v1/subjects/"+subject+"/passkeys/import", object{
		"credential_id": "AAAA", "public_key": base64.RawURLEncoding.EncodeToString(newCredential().Key.AttestationData()), "counter": 0,
		"flags": object{"backup_eligible": false, "backed_up": false},
	}).problem(400, "registration_refused")
}

// The npm package @simplewebauthn/server accepts the ceremonies of an app, of a related site and of a second RP ID, and a passkey that it has
// registered works here once it is imported.
func TestSimpleWebAuthnPackageAgreesAboutApps(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(scripts, "node_modules", "@simplewebauthn", "server")); err != nil {
		t.Skip("npm ci has not been run in integration/" + scripts)
	}
	pair := newTenant(t)
	w, moved := pair.Sandbox, pair.Live
	bank := w.givenRPID(t)
	w.Admin.patch(t, environmentPath, object{"origins": []string{"http://localhost:8080", "https://" + bank, app},
		"passkeys": object{"rp_ids": []string{bank}, "related_origins": []string{"https://shop.example"}}}).is(200)
	action := w.showing(t, with(challenging, object{"challenge_methods": []string{"passkey"}}))
	for name, rp := range map[string]virtualwebauthn.RelyingParty{
		"app": {ID: "localhost", Origin: app}, "related site": {ID: "localhost", Origin: "https://shop.example"}, "second RP ID": {ID: bank, Origin: "https://" + bank},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := w.subject(t)
			d := w.deviceAt(t, subject, rp)
			path := "/api/v1/challenges/" + w.Server.post(t, "/api/v1/authorize", payment(subject, action)).is(200).string("challenge.id")
			options := w.Server.post(t, path+"/passkey/options", nil).is(200)
			c := ceremony{Origin: rp.Origin, RPID: rp.ID, Creation: d.creation, Registration: d.registration["credential"],
				View: decoded(t, w.Server.get(t, path).is(200).body), Options: decoded(t, options.body), Assertion: d.assertion(t, options.body)}
			out, err := c.node(t, "verify.mjs")
			require.NoError(t, err, out)
			exported, err := c.node(t, "export.mjs")
			require.NoError(t, err, exported)

			moved.Admin.patch(t, environmentPath, object{"origins": []string{"https://" + bank, app},
				"passkeys": object{"rp_ids": []string{bank}, "related_origins": []string{"https://shop.example"}}}).is(200)
			_, there := moved.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
			subject = moved.subject(t)
			moved.Server.post(t, "/api/v1/subjects/"+subject+"/passkeys/import", with(decoded(t, []byte(exported)), object{"rp_id": rp.ID})).is(201)
			d.auth.Options.UserHandle = nil // an authenticator sends the handle of the server that registered it only if it is asked for no credential
			d.completes(t, moved, subject, there, nil).is(200)
		})
	}
}

// TestPasskeyRulesPage runs every command of docs/passkeys.md.
func TestPasskeyRulesPage(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	dir := developerFolder(t, w)
	buildService(t, filepath.Join(dir, "bin"))
	output := runShell(t, dir, codeBlocks(t, "../docs/passkeys.md", "sh"))
	for _, want := range []string{"may use the RP IDs: ", `"id":"bank.example.org"`, `"attestation":"required"`, `"id":"psk_`} {
		require.Contains(t, output, want)
	}
}
