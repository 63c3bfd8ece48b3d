package events

// Types of the events about the systems to which the log is pushed.
const (
	DestinationChanged     Type = "destination.changed"
	DestinationRemoved     Type = "destination.removed"
	DestinationCredentials Type = "destination.credentials_set"
)

// DestinationChangedData describes a destination as it is from now on. Of its address only the host is said: the path may be a secret.
type DestinationChangedData struct {
	Destination string `json:"destination"`
	Name        string `json:"name"`
	Kind        string `json:"kind" schema:"otlp|https|syslog"`
	Host        string `json:"host"`
	// CredentialsEnded says that the address is a different one, so that the credentials of before ended.
	CredentialsEnded bool `json:"credentials_ended"`
}

// DestinationRemovedData names a destination, and the number of the last entry that it confirmed.
type DestinationRemovedData struct {
	Destination string `json:"destination"`
	Name        string `json:"name"`
	Position    int64  `json:"position"`
}

// DestinationCredentialsData says which credentials a destination has from now on.
type DestinationCredentialsData struct {
	Destination string `json:"destination"`
	Header      bool   `json:"header"`
	Certificate bool   `json:"certificate"`
}

func (DestinationChangedData) EventType() Type     { return DestinationChanged }
func (DestinationRemovedData) EventType() Type     { return DestinationRemoved }
func (DestinationCredentialsData) EventType() Type { return DestinationCredentials }

var destinationEvents = []Definition{
	audit("A destination of the log was set up, or its settings changed.", DestinationChangedData{}),
	audit("A destination of the log was removed.", DestinationRemovedData{}),
	audit("The credentials of a destination of the log were replaced or removed.", DestinationCredentialsData{}),
}
