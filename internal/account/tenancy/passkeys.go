package tenancy

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/webname"
	"github.com/countersign-dev/countersign/models"
)

// Passkeys is a change of the rules of an environment's passkeys. A nil field is left unchanged.
type Passkeys struct {
	// RPIDs are further RP IDs, host names such as bank.example. A passkey is bound to one of them when it is registered.
	RPIDs []string `json:"rp_ids"`
	// RelatedOrigins are origins of other sites that may use the passkeys (WebAuthn Level 3, section 5.11).
	RelatedOrigins []string `json:"related_origins"`
	// Attestation is none or required. Required accepts only authenticators whose attestation leads to a certificate of
	// AttestationRoots, which must not be empty then.
	Attestation      *string  `json:"attestation"`
	AttestationRoots []string `json:"attestation_roots"` // one certificate in PEM each
	// AAGUIDs are the models of authenticators that may be registered; empty permits all.
	AAGUIDs []string `json:"aaguids"`
}

func isApp(origin string) bool { return strings.HasPrefix(origin, models.AppOrigin) }

func checkApp(origin string) error {
	digest, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(origin, models.AppOrigin))
	if err != nil || len(digest) != sha256.Size {
		return fmt.Errorf("the origin %q is not %s and the SHA-256 of the app's signing certificate in base64url without padding, 43 characters", origin, models.AppOrigin)
	}
	return nil
}

// canonical sets every host name and origin to its canonical form, or returns a validation problem that names the first one that has none.
func (in *Passkeys) canonical() (err error) {
	if in.RPIDs, err = parseAll(in.RPIDs, forms["passkeys.rp_ids"], "passkeys", "rp_ids"); err != nil {
		return err
	}
	in.RelatedOrigins, err = parseAll(in.RelatedOrigins, forms["passkeys.related_origins"], "passkeys", "related_origins")
	return err
}

// applyPasskeys makes the changes of passkeys, and checks them and the origins, which depend on each other.
func (in Settings) applyPasskeys(change *Passkeys, env *models.Environment) error {
	local := env.Kind == models.Sandbox
	if change == nil && !in.has("origins") {
		return nil
	}
	if change != nil {
		if err := change.apply(&env.Passkeys, local); err != nil {
			return err
		}
	}
	if err := usable(*env); err != nil {
		return err
	}
	rules := rpOrigins{rpID: env.RPID, others: env.Passkeys.RPIDs, allowLocal: local}
	for i, origin := range env.RPOrigins {
		// A development environment may have local origins although it is live: only given ones are refused.
		if err := rules.check(origin); err != nil && (in.has("origins") || !webname.IsLocal(webname.HostOf(origin))) {
			return problem.Invalid([]any{"body", "origins", i}, err.Error(), "value_error")
		}
	}
	return nil
}

// usable checks with the library that runs the ceremonies that it accepts an environment's RP IDs and origins.
func usable(env models.Environment) error {
	web, apps := env.OriginsByKind()
	for _, id := range env.Passkeys.RPIDsOf(env) {
		if _, err := webauthn.New(&webauthn.Config{RPID: id, RPDisplayName: env.RPName, RPOrigins: web, RPOpaqueOrigins: apps}); err != nil {
			return problem.Invalid([]any{"body", "origins"}, fmt.Sprintf("passkeys cannot be used with these origins: %v", err), "value_error")
		}
	}
	return nil
}

func (in Passkeys) apply(to *models.PasskeyRules, local bool) error {
	for i, id := range in.RPIDs {
		switch {
		case webname.IsLocal(id) && local:
		case webname.IsLocal(id):
			return passkeyFault("rp_ids", i, fmt.Sprintf("%q is local; a live environment must not have a local RP ID", id))
		case !slices.Contains(to.Given, id):
			return problem.Newf(problem.Conflict, "The RP ID %s is not given to this tenant. The operator gives it with countersign tenant rp-ids --give %s.", id, id)
		}
	}
	for i, origin := range in.RelatedOrigins {
		if host := webname.HostOf(origin); !strings.HasPrefix(origin, "https:") || webname.IsLocal(host) && !local {
			return passkeyFault("related_origins", i, fmt.Sprintf("%q is not an https origin such as https://bank.example.org", origin))
		}
	}
	for i, text := range in.AttestationRoots {
		if _, err := Certificate(text); err != nil {
			return passkeyFault("attestation_roots", i, err.Error())
		}
	}
	for i, id := range in.AAGUIDs {
		if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id || parsed == uuid.Nil {
			return passkeyFault("aaguids", i, fmt.Sprintf("%q is not an AAGUID in lower case such as ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4", id))
		}
	}
	replace(&to.RPIDs, in.RPIDs)
	replace(&to.RelatedOrigins, in.RelatedOrigins)
	replace(&to.AttestationRoots, in.AttestationRoots)
	replace(&to.AAGUIDs, in.AAGUIDs)
	assign(&to.Attestation, in.Attestation)
	if to.Attestation == models.AttestationRequired && len(to.AttestationRoots) == 0 {
		return problem.Invalid([]any{"body", "passkeys", "attestation_roots"},
			"passkeys.attestation_roots must have at least one certificate while passkeys.attestation is required.", "value_error")
	}
	return nil
}

func replace(to *models.Strings, given []string) {
	if given != nil {
		*to = given
	}
}

func passkeyFault(field string, i int, rule string) error {
	return problem.Invalid([]any{"body", "passkeys", field, i}, fmt.Sprintf("passkeys.%s[%d]: %s.", field, i, rule), "value_error")
}

// Certificate reads one certificate in PEM.
func Certificate(text string) (*x509.Certificate, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" || strings.TrimSpace(string(rest)) != "" {
		return nil, fmt.Errorf("it must be one certificate in PEM, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it must be an X.509 certificate")
	}
	return c, nil
}

// current returns the values in force of the rules that in gives.
func (in Passkeys) current(r models.PasskeyRules) *Passkeys {
	list := func(given []string, value models.Strings) []string {
		if given == nil {
			return nil
		}
		return append([]string{}, value...)
	}
	return &Passkeys{
		RPIDs: list(in.RPIDs, r.RPIDs), RelatedOrigins: list(in.RelatedOrigins, r.RelatedOrigins), Attestation: current(in.Attestation, r.Attestation),
		AttestationRoots: list(in.AttestationRoots, r.AttestationRoots), AAGUIDs: list(in.AAGUIDs, r.AAGUIDs),
	}
}

// recordedAttestation returns the SHA-256 of each trusted certificate in hex; none if attestation is not required.
func recordedAttestation(r models.PasskeyRules) []string {
	if r.Attestation != models.AttestationRequired {
		return nil
	}
	var out []string
	for _, text := range r.AttestationRoots {
		if c, err := Certificate(text); err == nil {
			sum := sha256.Sum256(c.Raw)
			out = append(out, hex.EncodeToString(sum[:]))
		}
	}
	slices.Sort(out)
	return out
}
