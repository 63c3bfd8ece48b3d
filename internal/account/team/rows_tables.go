package team

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Team](pg.Table{
	Name: "teams", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "tenants"},
	Of:     pg.OfEnvironment,
	Moves:  []string{"id", "tenant_id", "environment_id", "key", "created_at", "created_by"},
	Free:   pg.Reasons{"name": "decides nothing"},
	Ends:   &pg.Ends{States: []string{"r.id"}},
})

var _ = pg.Declare[models.TeamMember](pg.Table{
	Name: "team_members", Key: []string{"team_id", "member"}, Placed: pg.Everywhere,
	Refers: []string{"teams"},
	Of:     pg.OfEnvironment,
	Moves:  []string{"team_id", "tenant_id", "environment_id", "member", "added_at", "added_by"},
	Ends:   &pg.Ends{States: []string{"r.team_id || ' ' || r.member || ' ' || extract(epoch from r.added_at)"}},
})

var _ = pg.Declare[models.Deputy](pg.Table{
	Name: "deputies", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "people"},
	Of:     pg.OfEnvironment,
	Moves:  []string{"id", "tenant_id", "environment_id", "person_id", "deputy_id", "starts_at", "ends_at"},
	Free:   pg.Reasons{"created_at": "decides nothing"},
	Ends:   &pg.Ends{States: []string{"r.id || ' until ' || extract(epoch from r.ends_at)"}, UselessAt: "r.ends_at"},
})
