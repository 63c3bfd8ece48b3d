package features

import "encoding/json"

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
