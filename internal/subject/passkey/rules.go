package passkey

import (
	"context"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func ruled(ctx context.Context, q *pg.Q, scope pg.Scope) (models.Environment, error) {
	env, err := tenancy.GetEnvironment(ctx, q, scope)
	if err != nil {
		return env, err
	}
	env.Passkeys, err = tenancy.PasskeyRules(ctx, q, scope)
	return env, err
}

// bound returns the RP ID that a caller named, or the environment's own if it named none.
func bound(env models.Environment, rpID string) (string, error) {
	if rpID == "" {
		return env.RPID, nil
	}
	all := env.Passkeys.RPIDsOf(env)
	if !slices.Contains(all, rpID) {
		return "", problem.Invalid([]any{"body", "rp_id"}, fmt.Sprintf("rp_id must be one of the environment's: %s", strings.Join(all, ", ")), "value_error")
	}
	return rpID, nil
}

// stored is an RP ID as a passkey has it: nil for the environment's own.
func stored(env models.Environment, rpID string) *string {
	if rpID == "" || rpID == env.RPID {
		return nil
	}
	return &rpID
}

// conveyance returns what an authenticator is asked to disclose: its model only if a rule of the environment or a policy depends on it.
func conveyance(ctx context.Context, q *pg.Q, scope pg.Scope, r models.PasskeyRules) (protocol.ConveyancePreference, error) {
	if r.Attestation == models.AttestationRequired || len(r.AAGUIDs) > 0 {
		return protocol.PreferDirectAttestation, nil
	}
	matter, err := modelsMatter(ctx, q, scope)
	if err != nil || !matter {
		return protocol.PreferNoAttestation, err
	}
	return protocol.PreferDirectAttestation, nil
}

// checkModel refuses an authenticator that the rules of the environment do not permit.
func checkModel(r models.PasskeyRules, made *webauthn.Credential, attestation protocol.AttestationObject, now time.Time) error {
	row := models.Passkey{AAGUID: made.Authenticator.AAGUID}
	if !r.Permits(AAGUID(row)) {
		return refuseRegistration("The environment does not permit this model of authenticator (passkeys.aaguids).", nil)
	}
	if r.Attestation != models.AttestationRequired {
		return nil
	}
	if err := checkAttestation(r.AttestationRoots, attestation, now); err != nil {
		return refuseRegistration("The environment requires an attestation that leads to one of its certificates (passkeys.attestation_roots).", err)
	}
	return nil
}

// subjectAlternativeName is critical in certificates of TPMs, and package x509 does not know its form there.
var subjectAlternativeName = asn1.ObjectIdentifier{2, 5, 29, 17}

// checkAttestation verifies the chain of the certificate that signed an attestation, whose signature the library has verified. An
// attestation without a certificate says nothing about the authenticator.
func checkAttestation(roots []string, attestation protocol.AttestationObject, now time.Time) error {
	given, _ := attestation.AttStatement["x5c"].([]any)
	var chain []*x509.Certificate
	for _, item := range given {
		raw, _ := item.([]byte)
		c, err := x509.ParseCertificate(raw)
		if err != nil {
			return fmt.Errorf("a certificate of the attestation cannot be read: %w", err)
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return fmt.Errorf("an attestation of the format %q has no certificate", attestation.Format)
	}
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, root := range roots {
		options.Roots.AppendCertsFromPEM([]byte(root))
	}
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	leaf := chain[0]
	leaf.UnhandledCriticalExtensions = slices.DeleteFunc(leaf.UnhandledCriticalExtensions, subjectAlternativeName.Equal)
	_, err := leaf.Verify(options)
	return err
}

// RelatedOrigins returns the further origins that may use passkeys of the RP ID host. It returns the problem not_found if there are none
// or if it is not known to which tenant the host belongs.
func (s *Service) RelatedOrigins(ctx context.Context, host string) ([]string, error) {
	found, err := tenancy.RelatedOrigins(ctx, s.store.Q, strings.ToLower(host))
	if errors.Is(err, pg.ErrNotFound) {
		return nil, problem.NewNotFound()
	}
	return found, err
}
