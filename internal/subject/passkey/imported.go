package passkey

import (
	"context"
	"encoding/base64"

	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Import is a passkey that another WebAuthn server registered. Its RP ID must be one of the environment's.
type Import struct {
	CredentialID string `json:"credential_id"` // base64url
	PublicKey    string `json:"public_key"`    // COSE key, base64url
	Counter      int64  `json:"counter"`       // signature counter last seen, 0..2^32-1
	Flags        struct {
		UserVerified   bool `json:"user_verified"`
		BackupEligible bool `json:"backup_eligible"`
		BackedUp       bool `json:"backed_up"`
	} `json:"flags"`
	Transports []string `json:"transports"`
	AAGUID     string   `json:"aaguid"`
	RPID       string   `json:"rp_id"` // empty is the environment's own
}

// Bounds of an imported passkey in bytes. WebAuthn Level 3 bounds credential ids; a key of RSA with 4096 bits has 537.
const (
	maxCredentialID = 1023
	maxPublicKey    = 2048
)

// Import stores a passkey without a ceremony. The first assertion shows whether the person has it. An environment that requires
// attestation refuses it, because nothing attests it.
func (s *Service) Import(ctx context.Context, p identity.Principal, subjectID string, in Import) (models.Passkey, error) {
	row, err := in.row()
	if err != nil {
		return row, err
	}
	now := s.clock.Now()
	err = s.store.Write(ctx, func(q *pg.Q) error {
		sub, err := activeSubject(ctx, q, p.Store(), subjectID)
		if err != nil {
			return err
		}
		if _, err := checkLimit(ctx, q, sub); err != nil {
			return err
		}
		env, err := ruled(ctx, q, p.Store())
		if err != nil {
			return err
		}
		if err := in.permitted(env, row); err != nil {
			return err
		}
		row.ID, row.TenantID, row.EnvironmentID, row.SubjectUID = ids.New(ids.Passkey), p.TenantID, p.EnvironmentID, sub.UID
		row.RPID, row.CreatedAt = stored(env, in.RPID), now
		return create(ctx, q, row, entry(p, sub, now, registered(row, true)))
	})
	return row, err
}

func (in Import) permitted(env models.Environment, row models.Passkey) error {
	if _, err := bound(env, in.RPID); err != nil {
		return err
	}
	if env.Passkeys.Attestation == models.AttestationRequired {
		return refuseRegistration("The environment requires attestation (passkeys.attestation), which an imported passkey does not have.", nil)
	}
	if !env.Passkeys.Permits(AAGUID(row)) {
		return refuseRegistration("The environment does not permit this model of authenticator (passkeys.aaguids).", nil)
	}
	return nil
}

// row checks what the contract does not express.
func (in Import) row() (models.Passkey, error) {
	row := models.Passkey{
		SignCount: in.Counter, AttestationType: models.AttestationNone, Transports: models.Strings(in.Transports),
		AAGUID: make([]byte, len(uuid.Nil)), UserVerified: in.Flags.UserVerified, BackupEligible: in.Flags.BackupEligible, BackupState: in.Flags.BackedUp,
	}
	var err error
	if row.CredentialID, err = base64.RawURLEncoding.DecodeString(in.CredentialID); err != nil || len(row.CredentialID) > maxCredentialID {
		return row, importFault("credential_id", "credential_id must be base64url without padding, of at most 1023 bytes")
	}
	key, err := base64.RawURLEncoding.DecodeString(in.PublicKey)
	if err != nil || len(key) > maxPublicKey {
		return row, importFault("public_key", "public_key must be base64url without padding, of at most 2048 bytes")
	}
	if _, err := webauthncose.ParsePublicKey(key); err != nil {
		return row, importFault("public_key", "public_key must be a COSE key (RFC 9052) of a type that WebAuthn has, such as ES256, EdDSA or RS256")
	}
	row.PublicKey = key
	if row.BackupState && !row.BackupEligible {
		return row, importFault("flags", "flags.backed_up cannot be true while flags.backup_eligible is false")
	}
	if in.AAGUID != "" {
		id, err := uuid.Parse(in.AAGUID)
		if err != nil {
			return row, importFault("aaguid", "aaguid must be an AAGUID such as ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4")
		}
		row.AAGUID = id[:]
	}
	return row, nil
}

func importFault(field, rule string) error {
	return problem.Invalid([]any{"body", field}, rule, "value_error")
}

// create stores a passkey and records its registration.
func create(ctx context.Context, q *pg.Q, row models.Passkey, e events.Entry) error {
	created, err := CreatePasskey(ctx, q, row)
	if err != nil {
		return err
	}
	if !created {
		return problem.New(problem.PasskeyExists, "This passkey is already registered in the environment.")
	}
	return events.Append(ctx, q, e)
}

func registered(row models.Passkey, imported bool) events.PasskeyRegisteredData {
	data := events.PasskeyRegisteredData{Passkey: row.ID, BackedUp: &row.BackupState}
	if imported {
		data.Imported = &imported
	}
	if model := AAGUID(row); model != nil {
		data.AAGUID = *model
	}
	return data
}
