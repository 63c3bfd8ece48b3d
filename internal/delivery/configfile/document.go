// Package configfile writes the configuration of an environment to a YAML file, compares a file with an environment, and applies it
// over the HTTP API. docs/configuration-as-code.md describes the file.
//
// Entries are named by keys that mean the same in every environment, never by ids. It reads and writes no secret of an existing
// environment, and it may not use the database: the API's permissions, checks, four eyes and audit log apply to it.
package configfile

import (
	"bytes"
	"encoding/json"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// formatVersion is the version of the file's form.
const formatVersion = 1

// Document is the content of a file. A section or property that is left out is not managed by the file and keeps its value.
type Document struct {
	Version          int                                 `json:"version"`
	Environment      *countersign.EnvironmentUpdate      `json:"environment,omitzero"`
	Teams            map[string]Team                     `json:"teams,omitzero"`   // by key
	Lists            map[string]List                     `json:"lists,omitzero"`   // by name
	Actions          map[string]Action                   `json:"actions,omitzero"` // by key
	WebhookEndpoints []countersign.WebhookEndpointUpdate `json:"webhook_endpoints,omitzero"`
	Destinations     map[string]Destination              `json:"destinations,omitzero"` // by name
}

// Action is an action with the content of its active policy version.
type Action struct {
	Name             string                            `json:"name,omitzero"`
	Consequence      string                            `json:"consequence,omitzero"`
	Labels           map[string]countersign.ActionText `json:"labels,omitzero"` // by language tag
	Mode             string                            `json:"mode,omitzero"`
	RiskClass        string                            `json:"risk_class,omitzero"`    // fixed at creation
	ResourceType     string                            `json:"resource_type,omitzero"` // fixed at creation
	AllowedAudiences []string                          `json:"allowed_audiences,omitzero"`
	AllowedCallers   []string                          `json:"allowed_callers,omitzero"` // names of keys
	ProofTTLSeconds  int64                             `json:"proof_ttl_seconds,omitzero"`
	ContextSchema    map[string]any                    `json:"context_schema,omitzero"`
	Requirements     *countersign.PolicyRequirements   `json:"requirements,omitzero"` // nil without an active version
}

// convert copies the properties that two types have in common, by their JSON. Numbers keep their digits.
func convert[T any](from any) (T, error) {
	var to T
	raw, err := json.Marshal(from)
	if err != nil {
		return to, err
	}
	return to, decodeExact(raw, &to)
}

func decodeExact(raw []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(to)
}
