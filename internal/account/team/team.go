// Package team manages the teams of reviewers of an environment and the deputies of its staff.
//
// The package does not count approvals: internal/authz/hold does, and reads the members when it counts. A member who may no longer
// review stays in the team without effect.
package team

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// MaxMembers is the maximum number of members of a team.
const MaxMembers = 200

// keyPattern is the form of a team's key, the same as in the contract.
var keyPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Service manages teams and deputies. It is safe for concurrent use.
type Service struct {
	store *pg.Store
	clock clock.Clock
}

// New returns the service.
func New(st *pg.Store, c clock.Clock) *Service { return &Service{store: st, clock: c} }

// By is who makes a change: the actor of its audit entry, the request, which is empty at the command line, and the workflow of the
// change request that was approved, if there was one. Whether the actor may make it is for the route table to check.
type By struct{ Actor, RequestID, WorkflowID string }

// Member is a member of a team. Reviews reports whether the member may review now.
type Member struct {
	// Actor is person:<id> or credential:<id>.
	Actor string
	// Reviews is false after the member lost the role, the permission or the access.
	Reviews bool
	Deputy  *models.Deputy // the deputyship that is in force; nil if the member is not absent
}

// View is a team with its members in the order of their actors.
type View struct {
	models.Team
	Members []Member
}

// Draft is a new team. It may begin without members, but a hold that requires it cannot be approved then: who reviews is decided when
// approvals are counted, and not when a policy is written.
type Draft struct {
	Key     string // unique in the environment; policies name it
	Name    string
	Members []string // actors
}

// Update is a change of a team. A nil field keeps its value. Members replaces the whole list; Add and Remove change it.
type Update struct {
	Name        *string
	Members     *[]string
	Add, Remove []string
}

// Get returns one team.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (View, error) {
	row, err := GetTeam(ctx, s.store.Q, scope, id)
	if errors.Is(err, pg.ErrNotFound) {
		return View{}, problem.NotFoundBy("team_id")
	}
	if err != nil {
		return View{}, err
	}
	views, err := s.views(ctx, scope, []models.Team{row})
	if err != nil {
		return View{}, err
	}
	return views[0], nil
}

// List lists the teams of the environment, newest first, and returns the cursor of the next page.
func (s *Service) List(ctx context.Context, scope pg.Scope, page pg.Page) ([]View, string, error) {
	rows, next, err := listTeams(ctx, s.store.Q, scope, page)
	if err != nil {
		return nil, "", err
	}
	views, err := s.views(ctx, scope, rows)
	return views, next, err
}

// views adds the members to teams, in four queries however many teams there are.
func (s *Service) views(ctx context.Context, scope pg.Scope, rows []models.Team) ([]View, error) {
	keys := make([]string, len(rows))
	for i, r := range rows {
		keys[i] = r.ID
	}
	members, err := MembersOfTeam(ctx, s.store.Q, scope, keys...)
	if err != nil {
		return nil, err
	}
	actors := make([]string, len(members))
	for i, m := range members {
		actors[i] = m.Member
	}
	now := s.clock.Now()
	able, err := ReviewersOfTeams(ctx, s.store.Q, scope, actors, now)
	if err != nil {
		return nil, err
	}
	absent, err := deputiesInForce(ctx, s.store.Q, scope, now)
	if err != nil {
		return nil, err
	}
	out := make([]View, len(rows))
	for i, r := range rows {
		out[i] = View{Team: r}
		for _, m := range members {
			if m.TeamID == r.ID {
				out[i].Members = append(out[i].Members, Member{Actor: m.Member, Reviews: slices.Contains(able, m.Member), Deputy: deputyOf(absent, m.Member)})
			}
		}
	}
	return out, nil
}

// deputyOf returns the deputyship of an absent actor; nil for keys, which are never absent.
func deputyOf(rows []models.Deputy, actor string) *models.Deputy {
	i := slices.IndexFunc(rows, func(d models.Deputy) bool { return "person:"+d.PersonID == actor })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// checkName trims a name and refuses one that a page could not show as text.
func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if n := utf8.RuneCountInString(name); n < 1 || n > 120 {
		return "", problem.Invalid([]any{"body", "name"}, "name must have 1 to 120 characters", "value_error")
	}
	if fault := displaytext.Fault(name); fault != "" {
		return "", problem.Invalid([]any{"body", "name"}, "name must not contain "+fault, "value_error")
	}
	return name, nil
}
