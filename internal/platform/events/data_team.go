package events

// Types of the events of teams and deputies.
const (
	TeamCreated     Type = "team.created"
	TeamUpdated     Type = "team.updated"
	TeamDeleted     Type = "team.deleted"
	DeputyNamed     Type = "deputy.named"
	DeputyWithdrawn Type = "deputy.withdrawn"
)

// TeamCreatedData has the members that a new team begins with, as actors.
type TeamCreatedData struct {
	Team    string   `json:"team"`
	Key     string   `json:"key"`
	Members []string `json:"members"`
}

// TeamUpdatedData has the members added and removed by one change.
type TeamUpdatedData struct {
	Team    string   `json:"team"`
	Key     string   `json:"key"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Change
}

// TeamDeletedData names a team that no policy in force and no pending hold required.
type TeamDeletedData struct {
	Team string `json:"team"`
	Key  string `json:"key"`
}

// DeputyNamedData names the person who is absent, the one who may approve in their place, and the period.
type DeputyNamedData struct {
	Deputyship string `json:"deputyship"`
	Person     string `json:"person"`
	Deputy     string `json:"deputy"`
	StartsAt   string `json:"starts_at" schema:"date-time"`
	EndsAt     string `json:"ends_at" schema:"date-time"`
}

// DeputyWithdrawnData has the fields of DeputyNamedData; the period ends with the event.
type DeputyWithdrawnData DeputyNamedData

func (TeamCreatedData) EventType() Type     { return TeamCreated }
func (TeamUpdatedData) EventType() Type     { return TeamUpdated }
func (TeamDeletedData) EventType() Type     { return TeamDeleted }
func (DeputyNamedData) EventType() Type     { return DeputyNamed }
func (DeputyWithdrawnData) EventType() Type { return DeputyWithdrawn }

var teamEvents = []Definition{
	audit("A team of reviewers was created.", TeamCreatedData{}),
	audit("A team of reviewers changed.", TeamUpdatedData{}),
	audit("A team of reviewers was deleted.", TeamDeletedData{}),
	audit("A deputy was named for the absence of a reviewer.", DeputyNamedData{}),
	audit("A deputy of a reviewer was withdrawn.", DeputyWithdrawnData{}),
}
