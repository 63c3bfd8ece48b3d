package features

import (
	_ "embed" // the tables are constants of the schema
	"encoding/json"
)

//go:embed tables.json
var tablesJSON []byte

// Tables are the residual constants a collector subtracts: population means of a key's log hold and of a digraph's log
// press-press and asinh release-press time. With them a cell says how this person differs on such keys, not which keys
// they were. Aggregates over 930 and more typists (see the model card), nobody's data.
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

func mustTables() Tables {
	var t Tables
	if err := json.Unmarshal(tablesJSON, &t); err != nil {
		panic("features: embedded tables.json does not parse: " + err.Error())
	}
	return t
}

// CollectorTables returns the embedded tables as JSON, byte for byte what a collector must carry.
func CollectorTables() []byte { return append([]byte(nil), tablesJSON...) }

// KeyName maps a W3C KeyboardEvent.code to the key name of the tables; "other" where the tables do not name it.
func KeyName(code string) string {
	if name, ok := tables.Codes[code]; ok {
		return name
	}
	return "other"
}
