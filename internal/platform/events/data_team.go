package events

// HoldEscalatedData names the team that has not approved in time and the one whose members may approve as well from now on.
type HoldEscalatedData struct {
	Team        string `json:"team"`
	EscalatedTo string `json:"escalated_to"`
	DueAt       string `json:"due_at" schema:"date-time"`
	RiskClass   string `json:"risk_class,omitempty"`
}

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

func (HoldEscalatedData) EventType() Type   { return HoldEscalated }
func (TeamCreatedData) EventType() Type     { return TeamCreated }
func (TeamUpdatedData) EventType() Type     { return TeamUpdated }
func (TeamDeletedData) EventType() Type     { return TeamDeleted }
func (DeputyNamedData) EventType() Type     { return DeputyNamed }
func (DeputyWithdrawnData) EventType() Type { return DeputyWithdrawn }
