package features

import (
	_ "embed" // the tables are constants of the schema
	"encoding/json"
	"slices"
)

// tables are the embedded tables, decoded once.
//
//go:embed tables.json
var tablesJSON []byte

// Tables are the constants of a collector. Times are reported relative to one typical value for every key and one for every pair of
// keys, so that cells are centred and their clips symmetrical. The values are stated, not estimated from recordings: a hold of 90 ms
// (4.5), 172 ms from press to press (5.15, some 70 words a minute), 44 ms from release to press (asinh 0.8).
type Tables struct {
	Version string `json:"version"`
	// Ranges of the residuals; a value beyond an end counts as that end.
	Clip struct {
		Hold [2]float64 `json:"hold"`
		PP   [2]float64 `json:"pp"`
		RP   [2]float64 `json:"rp"`
	} `json:"clip"`
	Hold  float64           `json:"hold"`
	PP    float64           `json:"pp"`
	RP    float64           `json:"rp"`
	Codes map[string]string `json:"codes"`
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
func CollectorTables() []byte { return slices.Clone(tablesJSON) }

// Typical returns the values that residuals are relative to: log hold, log press-press and asinh release-press.
func Typical() (hold, pp, rp float64) { return tables.Hold, tables.PP, tables.RP }

// KeyName maps a W3C KeyboardEvent.code to the key name of the tables; "other" if the tables do not have the key.
func KeyName(code string) string {
	if name, ok := tables.Codes[code]; ok {
		return name
	}
	return "other"
}
