package directory

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// What the directory sends often is not logged: the roles, teams and endings that follow from it are rows and entries of their own.
const follows = "the roles, teams and endings that follow are entries"

var _ = pg.Declare[models.Directory](pg.Table{
	Name: "directories", Key: []string{"tenant_id"}, Placed: pg.Everywhere,
	Refers: []string{"identity_providers", "tenants"},
	Of:     pg.OfTenant,
	Moves:  []string{"tenant_id", "identity_provider_id", "grants", "required", "updated_at"},
})

var _ = pg.Declare[models.DirectoryToken](pg.Table{
	Name: "directory_tokens", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"directories"},
	Of:     pg.OfTenant,
	Moves:  []string{"id", "tenant_id", "mac", "created_at", "created_by", "expires_at"},
	Free:   pg.Reasons{"last_used_at": "decides nothing"},
	Ends:   &pg.Ends{States: []string{"r.id || coalesce(' until ' || extract(epoch from r.expires_at), '')"}, UselessAt: "r.expires_at"},
})

var _ = pg.Declare[models.DirectoryUser](pg.Table{
	Name: "directory_users", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"people", "tenants"},
	Of:     pg.OfTenant,
	Moves: []string{
		"id", "tenant_id", "external_id", "user_name", "attributes", "active", "manager", "person_id", "linked", "revision", "created_at",
		"updated_at", "deleted_at",
	},
	Unlogged: follows,
})

var _ = pg.Declare[models.DirectoryGroup](pg.Table{
	Name: "directory_groups", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers:   []string{"tenants"},
	Of:       pg.OfTenant,
	Moves:    []string{"id", "tenant_id", "external_id", "display_name", "revision", "created_at", "updated_at"},
	Unlogged: follows,
})

var _ = pg.Declare[models.DirectoryMember](pg.Table{
	Name: "directory_members", Key: []string{"group_id", "user_id"}, Placed: pg.Everywhere,
	Refers:   []string{"directory_groups", "directory_users", "tenants"},
	Of:       pg.OfTenant,
	Moves:    []string{"group_id", "user_id", "tenant_id"},
	Unlogged: follows,
})
