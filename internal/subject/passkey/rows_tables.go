package passkey

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Passkey](pg.Table{
	Name: "passkeys", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"subjects"},
	Of:     pg.OfEnvironment,
	Moves: []string{
		"id", "tenant_id", "environment_id", "subject_uid", "credential_id", "public_key", "attestation_type", "aaguid", "user_verified",
		"backup_eligible", "created_at", "revoked_at", "rp_id",
	},
	Free: pg.Reasons{
		"backup_state":  "changes with each use",
		"clone_warning": "a warning",
		"last_used_at":  "decides nothing",
		"sign_count":    "changes with each use; a lower one is a warning",
		"transports":    "a hint to browsers",
	},
	Subject: &pg.OfSubject{Stays: "a recovery may rest on them; the relying party revokes those that it distrusts", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id #credential_id #public_key attestation_type #aaguid transports sign_count user_verified backup_eligible rp_id backup_state " +
			"clone_warning @created_at @last_used_at @revoked_at",
		Order: "created_at, id",
	},
	Ends: &pg.Ends{States: []string{"case when r.revoked_at is null then r.id end"}},
})

var _ = pg.Declare[models.RegistrationGrant](pg.Table{
	Name: "registration_grants", Key: []string{"mac"}, Placed: pg.ByEnvironment,
	Refers:   []string{"subjects"},
	Of:       pg.OfEnvironment,
	Moves:    []string{"mac", "id", "tenant_id", "environment_id", "credential_id", "subject_uid", "created_at", "expires_at", "used_at"},
	Free:     pg.Reasons{"ceremony": "moves with each attempt; an assertion must fit it"},
	Unlogged: "lives for minutes",
	Subject:  &pg.OfSubject{Ends: append(pg.EveryIncident, pg.AccountAtRisk), Stays: "the relying party asks for one by itself", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id credential_id @created_at @expires_at @used_at",
		Order:   "created_at, id",
	},
	Ends: &pg.Ends{States: []string{"case when r.used_at is null then encode(r.mac, 'hex') || ' until ' || extract(epoch from r.expires_at) end"}, UselessAt: "r.expires_at"},
})
