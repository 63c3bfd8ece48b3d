package features

import (
	_ "embed" // the tables are constants of the schema
	"encoding/json"
)

// tables are the embedded tables, decoded once.
//
//go:embed tables.json
var tablesJSON []byte

// Tables are the constants that a collector subtracts (residuals): population means of a key's log hold time and of a digraph's log
// press-press and asinh release-press times. A residual describes how the person differs on such keys, and not which keys were
// pressed. They are aggregates over at least 930 typists (see docs/model-card.md) and contain no individual's data.
type Tables struct {
	Version string `json:"version"`
	Clip    struct {
		Hold [2]float64 `json:"hold"`
		PP   [2]float64 `json:"pp"`
		RP   [2]float64 `json:"rp"`
	} `json:"clip"`
	HoldDefault float64               `json:"hold_default"`
	Hold        map[string]float64    `json:"hold"`
	Digraph     map[string][2]float64 `json:"digraph"`
	FingerPair  map[string][2]float64 `json:"finger_pair"`
	Codes       map[string]string     `json:"codes"`
}

var tables = mustTables()

// mustTables decodes the embedded tables. It panics if they are damaged, which any test would reveal.
func mustTables() Tables {
	var t Tables
	if err := json.Unmarshal(tablesJSON, &t); err != nil {
		panic("features: embedded tables.json does not parse: " + err.Error())
	}
	return t
}

// CollectorTables returns the embedded tables as JSON, byte for byte what a collector must embed.
func CollectorTables() []byte { return append([]byte(nil), tablesJSON...) }

// KeyName maps a W3C KeyboardEvent.code to the key name of the tables; "other" if the tables do not have the key.
func KeyName(code string) string {
	if name, ok := tables.Codes[code]; ok {
		return name
	}
	return "other"
}
