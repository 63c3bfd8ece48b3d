package features

import (
	"encoding/json"
	"math"
)

// MarshalJSON encodes the frame as the features object that a collector sends.
func (f Frame) MarshalJSON() ([]byte, error) { return json.Marshal(f.Tree()) }

// Tree returns the features object that a collector sends, in the form of decoded JSON, which Read accepts.
func (f Frame) Tree() map[string]any {
	out := map[string]any{"schema": SchemaVersion}
	if f.ClockMS > 0 {
		out["clock_ms"] = f.ClockMS
	}
	for m, b := range f.Blocks {
		cells := map[string]any{}
		for i, n := range b.Cells.N {
			if n > 0 {
				cells[schemaCells[m][i].Name] = []any{n, b.Cells.M[i]}
			}
		}
		out[string(m)] = map[string]any{"events": float64(b.Events), "active_ms": b.ActiveMS, "cells": cells}
	}
	presence := map[string]any{}
	for i, has := range f.Presence.Has {
		if has {
			presence[presenceScalars[i].Name] = f.Presence.Values[i]
		}
	}
	if len(presence) > 0 {
		out["presence"] = presence
	}
	return out
}

// ExampleJSON returns a small, valid features object for documentation and /meta. Its values are invented.
func ExampleJSON() map[string]any {
	return map[string]any{
		"schema":   SchemaVersion,
		"clock_ms": 1,
		"keystroke": map[string]any{"events": 52, "active_ms": 11800, "cells": map[string]any{
			"h:LI": []float64{CountMany, -0.08}, "h:SP": []float64{CountMany, 0.05}, "p:alt_LR": []float64{CountMany, -0.21},
			"r:alt_LR": []float64{CountMany, -0.33}, "ps:alt_LR": []float64{CountMany, 0.3}, "bs:all": []float64{CountMany, 0.06},
		}},
		"pointer": map[string]any{"events": 240, "active_ms": 6900, "cells": map[string]any{
			"lv": []float64{CountMany, -0.71}, "turn#2": []float64{CountMany, 0.24}, "slen": []float64{CountFew, 5.61},
		}},
		"scroll":   map[string]any{"events": 12, "active_ms": 900, "cells": map[string]any{"sc:lv": []float64{CountMany, 0.4}}},
		"rhythm":   map[string]any{"events": 304, "active_ms": 15000, "cells": map[string]any{"rt:key_ptr": []float64{CountFew, 6.7}}},
		"presence": map[string]any{"sd_lpp": 0.47, "sd_lhold": 0.31, "med_pp": 168, "sd_lv": 1.14},
	}
}

// JSONSchema returns the JSON Schema (2020-12) of the features object, for the OpenAPI document and for integrators.
func JSONSchema() map[string]any {
	props := map[string]any{
		"schema":   map[string]any{"const": SchemaVersion},
		"clock_ms": numberSchema(0, MaxClockMS),
		"presence": strictObject(scalarProperties()),
	}
	for _, m := range Modalities() {
		props[string(m)] = strictObject(map[string]any{
			"events":    map[string]any{"type": "integer", "minimum": 0, "maximum": MaxEvents},
			"active_ms": numberSchema(0, MaxActiveMS),
			"cells":     strictObject(cellProperties(m)),
		})
	}
	out := strictObject(props)
	out["required"] = []string{"schema"}
	return out
}

// strictObject returns a schema that forbids properties other than the given ones.
func strictObject(props map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": props}
}

// numberSchema rounds the range outwards to two decimals, the precision of a sent mean.
func numberSchema(lo, hi float64) map[string]any {
	return map[string]any{"type": "number", "minimum": math.Floor(lo*100) / 100, "maximum": math.Ceil(hi*100) / 100}
}

// scalarProperties returns the schema of each presence scalar.
func scalarProperties() map[string]any {
	out := map[string]any{}
	for _, s := range presenceScalars {
		out[s.Name] = numberSchema(s.Min, s.Max)
	}
	return out
}

// cellProperties returns the schema of each cell: an array of the count bin and the mean.
func cellProperties(m Modality) map[string]any {
	out := map[string]any{}
	for _, c := range schemaCells[m] {
		out[c.Name] = map[string]any{
			"type": "array", "minItems": 2, "maxItems": 2,
			"prefixItems": []any{map[string]any{"enum": []int{0, CountFew, CountMany}}, numberSchema(c.Min, c.Max)},
		}
	}
	return out
}
