package identity

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Credential](pg.Table{
	Name: "credentials", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "tenants"},
	Of:     pg.OfEnvironment,
	Moves: []string{
		"id", "tenant_id", "environment_id", "scope", "permissions", "rate_limit", "created_at", "created_by", "principal", "issuers",
		"former_principal", "expires_at", "lapses_at", "revoked_at",
	},
	Free: pg.Reasons{
		"ends_at":      "generated of two of the columns",
		"last_used_at": "decides nothing",
		"name":         "decides nothing",
		"preview":      "decides nothing",
	},
	Ends: &pg.Ends{States: []string{"case when r.revoked_at is null then r.id end"}},
})

var _ = pg.Declare[models.CredentialKey](pg.Table{
	Name: "credential_keys", Key: []string{"mac"}, Placed: pg.Everywhere,
	Refers: []string{"credentials"},
	Of:     "credential_id in (select id from credentials where tenant_id = @tenant and environment_id = @environment)",
	Moves:  []string{"mac", "credential_id", "created_at", "expires_at"},
	Ends:   &pg.Ends{States: []string{"encode(r.mac, 'hex') || coalesce(' until ' || extract(epoch from r.expires_at), '')"}},
})

var _ = pg.Declare[models.ClientToken](pg.Table{
	Name: "client_tokens", Key: []string{"mac"}, Placed: pg.ByEnvironment,
	Refers: []string{"credentials", "subjects"},
	Of:     pg.OfEnvironment,
	Moves: []string{
		"mac", "id", "tenant_id", "environment_id", "credential_id", "subject_uid", "origin", "purposes", "session_id", "created_at",
		"expires_at", "revoked_at",
	},
	Unlogged: "lives for minutes",
	Subject:  &pg.OfSubject{Ends: append(pg.EveryIncident, pg.SessionsRevoked), Stays: "submit evidence for a session", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id credential_id origin purposes session_id @created_at @expires_at @revoked_at",
		Order:   "created_at, id",
	},
	Ends: &pg.Ends{States: []string{"case when r.revoked_at is null then encode(r.mac, 'hex') end"}, UselessAt: "r.expires_at"},
})

var people = pg.Declare[models.Person](pg.Table{
	Name: "people", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"identity_providers", "tenants"},
	Of:     pg.OfTenant,
	Moves: []string{
		"id", "tenant_id", "created_at", "revoked_at", "identity_provider_id", "provider_subject", "signed_in_at", "confirmed_at",
		"confirmed_by", "shown_to", "mailed_by", "principal", "created_by", "revoked_by",
	},
	Free: pg.Reasons{"joined_at": "decides nothing", "name": "decides nothing"},
	Ends: &pg.Ends{States: []string{"case when r.revoked_at is null then r.id end", "r.id || ' confirmed ' || extract(epoch from r.confirmed_at)"}},
})

var _ = pg.Declare[models.PersonRole](pg.Table{
	Name: "person_roles", Key: []string{"person_id", "environment_id", "role"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "people"},
	Of:     "environment_id = @environment",
	Moves:  []string{"person_id", "environment_id", "role", "granted_at", "granted_by"},
	Ends:   &pg.Ends{States: []string{"r.person_id || ' ' || r.environment_id || ' ' || r.role || ' ' || extract(epoch from r.granted_at)"}},
})
