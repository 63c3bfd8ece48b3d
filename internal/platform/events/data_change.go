package events

// Types of the events of change requests.
const (
	ChangeRequested  Type = "change.requested"
	ChangeApproved   Type = "change.approved"
	ChangeRejected   Type = "change.rejected"
	ChangeWithdrawn  Type = "change.withdrawn"
	ChangeSuperseded Type = "change.superseded"
	ChangeExpired    Type = "change.expired"
)

// ChangeRequestedData describes a change request. Before and after are digests of what is in force and what is proposed.
type ChangeRequestedData struct {
	ID        string `json:"change"`
	Kind      string `json:"kind" schema:"policy.activate|action.mode|environment.settings|team.create|team.update|team.delete|webhook.create|webhook.update|list.entries|list.delete|subject.reinstate|person.manager|signals.set|signals.remove|destination.set|destination.remove"`
	ExpiresAt string `json:"expires_at" schema:"date-time"`
	Change
}

// ChangeApprovedData names both principals' actors: the change is in force from this event on.
type ChangeApprovedData struct {
	ID          string `json:"change"`
	Kind        string `json:"kind" schema:"policy.activate|action.mode|environment.settings|team.create|team.update|team.delete|webhook.create|webhook.update|list.entries|list.delete|subject.reinstate|person.manager|signals.set|signals.remove|destination.set|destination.remove"`
	RequestedBy string `json:"requested_by"`
	ResolvedBy  string `json:"resolved_by"`
	Change
}

// ChangeRejectedData has the fields of ChangeApprovedData.
type ChangeRejectedData ChangeApprovedData

// ChangeWithdrawnData has the fields of ChangeApprovedData.
type ChangeWithdrawnData ChangeApprovedData

// ChangeSupersededData has the fields of ChangeApprovedData.
type ChangeSupersededData ChangeApprovedData

// ChangeExpiredData has the fields of ChangeRequestedData.
type ChangeExpiredData ChangeRequestedData

func (ChangeRequestedData) EventType() Type  { return ChangeRequested }
func (ChangeApprovedData) EventType() Type   { return ChangeApproved }
func (ChangeRejectedData) EventType() Type   { return ChangeRejected }
func (ChangeWithdrawnData) EventType() Type  { return ChangeWithdrawn }
func (ChangeSupersededData) EventType() Type { return ChangeSuperseded }
func (ChangeExpiredData) EventType() Type    { return ChangeExpired }

var changeEvents = []Definition{
	public(ChangeRequestedData{}, "A change of the configuration waits for a second approver.",
		waitingExample(), maybeAction),
	public(ChangeApprovedData{}, "A second approver approved a change, which is in force from now on.",
		changeExample(), maybeAction),
	public(ChangeRejectedData{}, "A second approver rejected a change.",
		changeExample(), maybeAction),
	public(ChangeWithdrawnData{}, "The requester withdrew a change.",
		changeExample(), maybeAction),
	public(ChangeSupersededData{}, "A change was approved after its base had changed, and was not applied.",
		changeExample(), maybeAction),
	public(ChangeExpiredData{}, "A change was not approved in time.",
		waitingExample(), maybeAction),
}
