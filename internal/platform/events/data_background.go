package events

// Types of the events of backgrounds that environments learn.
const (
	BackgroundOwnActivated Type = "background.own_activated"
	BackgroundOwnRefused   Type = "background.own_refused"
	BackgroundOwnRetired   Type = "background.own_retired"
)

// BackgroundOwnActivatedData names a background that the environment learned, what it replaces and how the two compare on people of the
// environment. Source is own or shared.
type BackgroundOwnActivatedData struct {
	Background string `json:"background"`
	Modality   string `json:"modality"`
	People     int    `json:"people"`
	Source     string `json:"source"`
	Replaces   string `json:"replaces"`
	// Equal error rates, 0 to 1.
	ErrorBefore float64 `json:"error_before"`
	ErrorAfter  float64 `json:"error_after"`
}

// BackgroundOwnRefusedData names a background that was formed and is worse than the one in force, with the equal error rates of both.
type BackgroundOwnRefusedData struct {
	Background  string  `json:"background"`
	Modality    string  `json:"modality"`
	People      int     `json:"people"`
	Source      string  `json:"source"`
	InForce     string  `json:"in_force"`
	ErrorBefore float64 `json:"error_before"`
	ErrorAfter  float64 `json:"error_after"`
}

// BackgroundOwnRetiredData says why a background is no longer in force (too_few_people, rolled_back or switched_off) and which one is.
type BackgroundOwnRetiredData struct {
	Background string `json:"background"`
	Modality   string `json:"modality"`
	Reason     string `json:"reason"`
	InForce    string `json:"in_force" schema:"empty"`
}

// EventType returns background.own_activated.
func (BackgroundOwnActivatedData) EventType() Type { return BackgroundOwnActivated }

// EventType returns background.own_refused.
func (BackgroundOwnRefusedData) EventType() Type { return BackgroundOwnRefused }

// EventType returns background.own_retired.
func (BackgroundOwnRetiredData) EventType() Type { return BackgroundOwnRetired }

var backgroundEvents = []Definition{
	audit("A background learned from the environment's own people was activated.", BackgroundOwnActivatedData{}),
	audit("A background learned by the environment was worse than the active one and was refused.", BackgroundOwnRefusedData{}),
	audit("A background learned by the environment was retired.", BackgroundOwnRetiredData{}),
}
