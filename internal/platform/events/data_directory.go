package events

// Types of the events of a company's directory, which provisions staff by SCIM.
const (
	DirectoryChanged      Type = "directory.changed"
	DirectoryRemoved      Type = "directory.removed"
	DirectoryTokenCreated Type = "directory_token.created"
	DirectoryTokenRotated Type = "directory_token.rotated"
	DirectoryTokenRevoked Type = "directory_token.revoked"
	DirectoryUserLinked   Type = "directory_user.linked"
)

// DirectoryChangedData has the groups that give roles in the environment, such as "payments-leads: reviewer", unless those of the identity
// provider do.
type DirectoryChangedData struct {
	IdentityProvider string   `json:"identity_provider,omitempty"`
	Groups           []string `json:"groups,omitempty"`
	Required         bool     `json:"required,omitempty"` // only people of the directory sign in with the identity provider
}

// DirectoryRemovedData has no fields: a tenant has one directory.
type DirectoryRemovedData struct{}

// DirectoryTokenCreatedData names a token.
type DirectoryTokenCreatedData struct {
	Token string `json:"token"`
}

// DirectoryTokenRotatedData names the new token, and when those of before end.
type DirectoryTokenRotatedData struct {
	Token  string `json:"token"`
	EndsAt string `json:"ends_at" schema:"date-time"`
}

// DirectoryTokenRevokedData names a token.
type DirectoryTokenRevokedData struct {
	Token string `json:"token"`
}

// DirectoryUserLinkedData names a user of the directory and the person who it is.
type DirectoryUserLinkedData struct {
	User   string `json:"user"`
	Person string `json:"person"`
}

func (DirectoryChangedData) EventType() Type      { return DirectoryChanged }
func (DirectoryRemovedData) EventType() Type      { return DirectoryRemoved }
func (DirectoryTokenCreatedData) EventType() Type { return DirectoryTokenCreated }
func (DirectoryTokenRotatedData) EventType() Type { return DirectoryTokenRotated }
func (DirectoryTokenRevokedData) EventType() Type { return DirectoryTokenRevoked }
func (DirectoryUserLinkedData) EventType() Type   { return DirectoryUserLinked }

var directoryEvents = []Definition{
	audit("The settings of the directory that provisions staff changed.", DirectoryChangedData{}),
	audit("The directory that provisions staff was removed.", DirectoryRemovedData{}),
	audit("A token of the directory was issued.", DirectoryTokenCreatedData{}),
	audit("A token of the directory was issued, and those of before end.", DirectoryTokenRotatedData{}),
	audit("A token of the directory was revoked.", DirectoryTokenRevokedData{}),
	audit("An operator of the service linked a user of the directory with a person.", DirectoryUserLinkedData{}),
}
