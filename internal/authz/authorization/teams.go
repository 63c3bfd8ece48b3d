package authorization

import (
	"time"

	"github.com/countersign-dev/countersign/models"
)

// addTeams adds what the hold requires of each team. An escalation counts from the opening of the hold; one that would come after
// the hold is due never takes effect.
func (d *decision) addTeams() {
	h := d.row.Hold
	h.TeamsRequired = len(d.requirements.Review)
	for _, t := range d.requirements.Review {
		row := models.HoldTeam{
			AuthorizationID: h.AuthorizationID, TenantID: h.TenantID, EnvironmentID: h.EnvironmentID, Team: t.Group, Approvals: t.Approvals,
		}
		// The time is stored and not the delay: a later policy must not move the escalation of a hold that waits already.
		if t.Escalate != nil {
			at := h.OpenedAt.Add(time.Duration(t.Escalate.AfterSeconds) * time.Second)
			row.EscalateTeam, row.EscalateAt = &t.Escalate.Group, &at
		}
		d.row.Teams = append(d.row.Teams, row)
	}
}
