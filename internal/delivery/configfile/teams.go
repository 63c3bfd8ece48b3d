package configfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Team is a team of reviewers. A member is person:prs_..., which is the same in both environments of a tenant, or key:NAME, because
// each environment has its own keys.
type Team struct {
	Name    string   `json:"name,omitzero"`
	Members []string `json:"members,omitzero"`
}

// The forms of members, in the file and in the API.
const (
	memberPerson     = "person:"
	memberKey        = "key:"
	memberCredential = "credential:" // #nosec G101 -- how a member begins that is a key without a name of its own
)

func (s *State) readTeams(ctx context.Context, api *countersign.Client) error {
	s.Document.Teams, s.teams = map[string]Team{}, map[string]string{}
	for t, err := range api.AllTeams(ctx, countersign.ListTeamsParams{Limit: largestPage}) {
		if err != nil {
			return err
		}
		out := Team{Name: t.Name, Members: []string{}}
		for _, m := range t.Members {
			name := s.member(m.Member)
			out.Members = append(out.Members, name)
			switch {
			case strings.HasPrefix(name, memberCredential):
				s.Notes = append(s.Notes, fmt.Sprintf("teams.%s.members has %s: no active key of that id has a name of its own; another environment needs its own key there", t.Key, name))
			case !m.Reviews:
				s.Notes = append(s.Notes, fmt.Sprintf("teams.%s.members has %s, who can no longer review; another environment refuses it", t.Key, name))
			}
		}
		slices.Sort(out.Members)
		s.Document.Teams[t.Key], s.teams[t.Key] = out, t.ID
	}
	return nil
}

// member returns a member of the API as the file names it.
func (s *State) member(actor string) string {
	id, is := strings.CutPrefix(actor, memberCredential)
	if !is {
		return actor
	}
	for name, of := range s.keys {
		if of == id {
			return memberKey + name
		}
	}
	return actor
}

// actors returns members of the file as the API names them.
func (s *State) actors(team string, members []string) ([]string, error) {
	out := slices.Clone(members)
	for i, m := range members {
		name, isKey := strings.CutPrefix(m, memberKey)
		switch {
		case isKey && s.keys[name] == "":
			return nil, fmt.Errorf("teams.%s.members[%d] is %q: the environment must have exactly one active key of that name; "+
				"create it (countersign credential create --name) or correct the file", team, i, m)
		case isKey:
			out[i] = memberCredential + s.keys[name]
		case !strings.HasPrefix(m, memberPerson) && !strings.HasPrefix(m, memberCredential):
			return nil, fmt.Errorf("teams.%s.members[%d] is %q: write person:prs_... or key:NAME", team, i, m)
		}
	}
	return out, nil
}

// teams plans the teams before the policies that name them.
func (p *Plan) teams(want map[string]Team) error {
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(want)) {
		faults = append(faults, p.team(key, want[key]))
	}
	return errors.Join(faults...)
}

func (p *Plan) team(key string, w Team) error {
	entry := "teams." + key
	have, exists := p.state.Document.Teams[key]
	if !exists && w.Name == "" {
		return fmt.Errorf("%s does not exist in the environment: to create it, the file needs its name", entry)
	}
	actors, err := p.state.actors(key, w.Members)
	if err != nil {
		return err
	}
	if w.Members != nil {
		// The order of members means nothing, and a key may be written by its id.
		w.Members = []string{}
		for _, a := range actors {
			w.Members = append(w.Members, p.state.member(a))
		}
		slices.Sort(w.Members)
		w.Members = slices.Compact(w.Members)
	}
	var before any = have
	c := Change{Sign: Alter, Entry: entry}
	if !exists {
		before, c.Sign = map[string]any{}, Add
	}
	if c.Fields, err = differences(before, w); err != nil || exists && len(c.Fields) == 0 {
		return err
	}
	c.make = func(ctx context.Context, m *maker) error {
		if !exists {
			return m.addTeam(ctx, entry, countersign.TeamCreate{Key: key, Name: w.Name, Members: actors})
		}
		body := countersign.TeamUpdate{Name: w.Name}
		if w.Members != nil {
			body.Members = actors
		}
		_, err := m.api.UpdateTeam(ctx, p.state.teams[key], body)
		return m.done(entry, "changed", err)
	}
	p.Changes = append(p.Changes, c)
	return nil
}

// addTeam creates a team. Policies that name one that waits for a second approver wait with it.
func (m *maker) addTeam(ctx context.Context, entry string, body countersign.TeamCreate) error {
	_, err := m.api.CreateTeam(ctx, body)
	if errors.As(err, new(*countersign.ApprovalRequiredError)) {
		m.missing = append(m.missing, body.Key)
	}
	return m.done(entry, "created", err)
}

// removeTeams plans the removal of teams after that of the policies that require them.
func (p *Plan) removeTeams(want map[string]Team, prune bool) {
	for _, key := range slices.Sorted(maps.Keys(p.state.Document.Teams)) {
		if _, named := want[key]; !named && want != nil {
			p.remove("teams."+key, prune, func(ctx context.Context, m *maker) error { return m.api.DeleteTeam(ctx, p.state.teams[key]) })
		}
	}
}

// newTeams returns the keys of the teams that are to be created.
func (p *Plan) newTeams() []string {
	var out []string
	for _, c := range p.Changes {
		if key, is := strings.CutPrefix(c.Entry, "teams."); is && c.Sign == Add {
			out = append(out, key)
		}
	}
	return out
}

// checkTeams refuses policies that name a team which the environment would not have, before anything is changed.
func (p *Plan) checkTeams(want Document, prune bool) error {
	have := maps.Clone(want.Teams)
	if want.Teams == nil || !prune {
		have = maps.Clone(p.state.Document.Teams)
		maps.Copy(have, want.Teams)
	}
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(want.Actions)) {
		groups, err := groupsOf(want.Actions[key].Requirements)
		faults = append(faults, err)
		for _, group := range groups {
			if _, known := have[group]; !known {
				faults = append(faults, fmt.Errorf("actions.%s.requirements: review names the team %q, which neither the file nor the environment has; "+
					"add it to teams in the file, or correct its key", key, group))
			}
		}
	}
	return errors.Join(faults...)
}

// groupsOf returns the keys of the teams that requirements name.
func groupsOf(r *countersign.PolicyRequirements) ([]string, error) {
	if r == nil {
		return nil, nil
	}
	in, err := convert[policy.Requirements](r)
	return in.Groups(), err
}

func named(r *countersign.PolicyRequirements, teams []string) bool {
	groups, err := groupsOf(r)
	return err == nil && slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(teams, g) })
}
