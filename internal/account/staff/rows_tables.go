package staff

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.IdentityProvider](pg.Table{
	Name: "identity_providers", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"tenants"},
	Of:     pg.OfTenant,
	Moves: []string{
		"id", "tenant_id", "name", "issuer", "client_id", "client_secret", "scopes", "groups_claim", "grants", "created_at", "updated_at",
		"removed_at",
	},
	Free:   pg.Reasons{"label": "decides nothing", "listed": "decides nothing"},
	Sealed: []pg.Sealed{{Column: "client_secret", While: "client_secret is not null"}},
	Ends:   &pg.Ends{States: []string{"case when r.removed_at is null then r.id end"}},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "provider_logouts", Key: []string{"identity_provider_id", "token_digest"}, Placed: pg.Everywhere,
	Refers: []string{"identity_providers"},
	Free:   pg.Reasons{"*": "work and state of hours"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "person_addresses", Key: []string{"person_id"}, Placed: pg.Everywhere,
	Refers: []string{"people"},
	Free:   pg.Reasons{"*": "sealed by the master key with the id of the record"},
	Sealed: []pg.Sealed{{Column: "address"}},
})

var _ = pg.Declare[models.PersonPosition](pg.Table{
	Name: "person_positions", Key: []string{"person_id"}, Placed: pg.Everywhere,
	Refers: []string{"people", "tenants"},
	Of:     pg.OfPeople,
	Moves:  []string{"person_id", "tenant_id", "manager_id", "department", "changed_at"},
})

var _ = pg.Declare[models.PersonInvitation](pg.Table{
	Name: "person_invitations", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"people"},
	Of:     pg.OfPeople,
	Moves:  []string{"id", "mac", "mailed", "person_id", "created_at", "created_by", "expires_at", "used_at"},
	Free:   pg.Reasons{"ceremony": "moves with each attempt"},
	Ends:   &pg.Ends{States: []string{"case when r.used_at is null then r.id end"}, UselessAt: "r.expires_at"},
})

var _ = pg.Declare[models.PersonPasskey](pg.Table{
	Name: "person_passkeys", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"people"},
	Of:     pg.OfPeople,
	Moves:  []string{"id", "person_id", "credential_id", "public_key", "attestation_type", "aaguid", "backup_eligible", "created_at"},
	Free: pg.Reasons{
		"backup_state":  "changes with each use",
		"clone_warning": "a warning",
		"last_used_at":  "decides nothing",
		"sign_count":    "changes with each use; a lower one is a warning",
		"transports":    "a hint to browsers",
	},
})

var _ = pg.Declare[models.ConsoleSession](pg.Table{
	Name: "console_sessions", Key: []string{"mac"}, Placed: pg.Everywhere,
	Refers: []string{"people"},
	Of:     pg.OfPeople,
	Moves: []string{
		"mac", "id", "person_id", "ceremony", "created_at", "confirmed_at", "expires_at", "ended_at", "identity_provider_id",
		"provider_session",
	},
	Free:     pg.Reasons{"confirming": "moves with each attempt", "last_seen_at": "moves with each use"},
	Unlogged: "lives for hours",
	Ends:     &pg.Ends{States: []string{"case when r.ended_at is null then encode(r.mac, 'hex') end"}, UselessAt: "r.expires_at"},
})

var _ = pg.Declare[models.SavedFilter](pg.Table{
	Name: "saved_filters", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "people"},
	Free:   pg.Reasons{"*": "decides nothing"},
})
