package events

// Types of the events about security events that identity providers send (OpenID Shared Signals).
const (
	SignalReceived      Type = "signal.received"
	SignalStreamChanged Type = "signal_stream.changed"
	SignalStreamRemoved Type = "signal_stream.removed"
	SignalTokenIssued   Type = "signal_stream.token_issued"
)

// SignalReceivedData describes a security event about a subject. Effects names what it did: end_sessions, void_proofs, challenge, revoke.
type SignalReceivedData struct {
	Signal     string   `json:"signal"`
	Stream     string   `json:"stream"`
	Type       string   `json:"type"`
	HappenedAt string   `json:"happened_at" schema:"date-time"`
	Effects    []string `json:"effects"`
}

// SignalStreamChangedData describes an issuer of security events as it is from now on. Effects are those that differ from the defaults, such as
// "session-revoked: end_sessions".
type SignalStreamChangedData struct {
	Stream   string   `json:"stream"`
	Name     string   `json:"name"`
	Issuer   string   `json:"issuer"`
	Audience string   `json:"audience"`
	Keys     string   `json:"keys"` // the address of the keys, or their digest
	PollURL  string   `json:"poll_url,omitempty"`
	Effects  []string `json:"effects"`
}

// SignalStreamRemovedData names an issuer of security events.
type SignalStreamRemovedData struct {
	Stream string `json:"stream"`
	Name   string `json:"name"`
}

// SignalTokenIssuedData names the stream. Use says whether the issuer pushes with the token, or events are polled with it.
type SignalTokenIssuedData struct {
	Stream string `json:"stream"`
	Use    string `json:"use" schema:"push|poll"`
}

func (SignalReceivedData) EventType() Type      { return SignalReceived }
func (SignalStreamChangedData) EventType() Type { return SignalStreamChanged }
func (SignalStreamRemovedData) EventType() Type { return SignalStreamRemoved }
func (SignalTokenIssuedData) EventType() Type   { return SignalTokenIssued }

var signalEvents = []Definition{
	audit("An identity provider reported a security event about a subject.", SignalReceivedData{}),
	audit("An issuer of security events was set up, or its settings changed.", SignalStreamChangedData{}),
	audit("An issuer of security events was removed.", SignalStreamRemovedData{}),
	audit("A token for receiving security events was issued or stored; the one of before ended.", SignalTokenIssuedData{}),
}
