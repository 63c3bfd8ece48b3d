package scim

import (
	_ "embed" // the documents
	"encoding/json"
	"strings"
)

// The documents of the service as it is, without the addresses: the schemas, the types of resources and the configuration.
//
//go:embed documents/schemas.json
var schemas []byte

//go:embed documents/resource_types.json
var resourceTypes []byte

//go:embed documents/service_provider_config.json
var serviceProviderConfig []byte

// Document returns a document of the service by its path below the base, such as /Schemas or /Schemas/{id}; nil if there is none.
func Document(base, path string) map[string]any {
	switch name, id, one := strings.Cut(strings.TrimPrefix(path, "/"), "/"); {
	case path == "/ServiceProviderConfig":
		var out map[string]any
		mustDecode(serviceProviderConfig, &out)
		out["meta"] = map[string]any{"resourceType": "ServiceProviderConfig", "location": base + path}
		return out
	case name == "Schemas" || name == "ResourceTypes":
		all := documents(base, name)
		if !one {
			return List(all, len(all), 1)
		}
		for _, d := range all {
			if d["id"] == id {
				return d
			}
		}
	}
	return nil
}

// documents returns the documents of a kind with their addresses.
func documents(base, name string) []map[string]any {
	raw, kind := schemas, "Schema"
	if name == "ResourceTypes" {
		raw, kind = resourceTypes, "ResourceType"
	}
	var out []map[string]any
	mustDecode(raw, &out)
	for _, d := range out {
		id, _ := d["id"].(string)
		d["meta"] = map[string]any{"resourceType": kind, "location": base + "/" + name + "/" + id}
	}
	return out
}

func mustDecode(raw []byte, to any) {
	if err := json.Unmarshal(raw, to); err != nil {
		panic("scim: a document cannot be read: " + err.Error())
	}
}
