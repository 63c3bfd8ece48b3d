package features

import (
	"fmt"
	"math"
)

// SchemaVersion versions the cells, their formulas and the tables. Any change to them requires a new version, because
// templates of different versions cannot be compared.
const SchemaVersion = "cs-features-2"

// Modality is a kind of behavior.
type Modality string

// The modalities of a frame. Keystroke and pointer can recognize a person; scroll, rhythm and gaze are accepted and stored, and are
// scored only if a background model for them exists. What a finger does on a screen is none of them (docs/accuracy.md).
const (
	Keystroke Modality = "keystroke"
	Pointer   Modality = "pointer"
	Scroll    Modality = "scroll"
	Rhythm    Modality = "rhythm"
	Gaze      Modality = "gaze"
)

// Modalities returns every modality in the order of the schema.
func Modalities() []Modality { return []Modality{Keystroke, Pointer, Scroll, Rhythm, Gaze} }

// Cell is one feature: the mean of a per-event value over the events of a class within the frame.
type Cell struct {
	Name       string   `json:"name"`
	Modality   Modality `json:"modality"`
	Definition string   `json:"definition"`
	Unit       string   `json:"unit"`
	Min        float64  `json:"min"`
	Max        float64  `json:"max"`
}

// Scalar is one human-presence value of a frame. It is never part of a template.
type Scalar struct {
	Name       string   `json:"name"`
	Modality   Modality `json:"modality"`
	Definition string   `json:"definition"`
	Unit       string   `json:"unit"`
	Min        float64  `json:"min"`
	Max        float64  `json:"max"`
}

// Limits of one frame's features object, published so that a collector can split its frames accordingly.
const (
	// Events of one modality in one frame.
	MaxEvents = 50_000
	// Active time of one modality, the longest a frame may last.
	MaxActiveMS = 600_000
	// Coarsest clock resolution a collector may report.
	MaxClockMS = 1_000
)

// Count bins. A collector reports how often a cell occurred only as one of these, because exact counts of key classes can
// identify a known text: 0 is absent, CountFew stands for 1 to 3 events, CountMany for 4 or more.
const (
	CountFew  = 2
	CountMany = 7
)

// BinCount maps an exact event count to its bin.
func BinCount(n int) float64 {
	switch {
	case n <= 0:
		return 0
	case n <= 3:
		return CountFew
	default:
		return CountMany
	}
}

var (
	schemaCells = map[Modality][]Cell{
		Keystroke: keystrokeCells(), Pointer: pointerCells(), Scroll: scrollCells(), Rhythm: rhythmCells(), Gaze: gazeCells(),
	}
	cellIndex       = indexCells()
	presenceScalars = presenceSchema()
	presenceIndex   = indexScalars()
)

// indexCells maps cell names to their positions.
func indexCells() map[Modality]map[string]int {
	out := map[Modality]map[string]int{}
	for mod, cells := range schemaCells {
		byName := make(map[string]int, len(cells))
		for i, c := range cells {
			byName[c.Name] = i
		}
		out[mod] = byName
	}
	return out
}

// indexScalars maps names of presence scalars to their positions.
func indexScalars() map[string]int {
	out := make(map[string]int, len(presenceScalars))
	for i, s := range presenceScalars {
		out[s.Name] = i
	}
	return out
}

// Cells returns the cells of a modality in the order of its vectors; nil for an unknown modality.
func Cells(m Modality) []Cell { return schemaCells[m] }

// Dim returns the number of cells of a modality.
func Dim(m Modality) int { return len(schemaCells[m]) }

// CellIndex returns the position of a cell; -1 for an unknown name.
func CellIndex(m Modality, name string) int {
	if i, ok := cellIndex[m][name]; ok {
		return i
	}
	return -1
}

// PresenceScalars returns the human-presence scalars in the order of Presence.Values.
func PresenceScalars() []Scalar { return presenceScalars }

// Description is the published form of the schema.
type Description struct {
	Version       string              `json:"feature_schema_version"`
	TablesVersion string              `json:"tables_version"`
	Cells         map[Modality][]Cell `json:"cells"`
	Presence      []Scalar            `json:"presence"`
	CountBins     map[string]int      `json:"count_bins"`
	Limits        map[string]int      `json:"limits"`
	Example       any                 `json:"example"`
}

// Schema returns the whole schema for /meta and the documentation. The slices are shared: do not modify them.
func Schema() Description {
	return Description{
		Version: SchemaVersion, TablesVersion: tables.Version, Cells: schemaCells, Presence: presenceScalars,
		CountBins: map[string]int{"0": 0, "1-3": CountFew, "4+": CountMany},
		Limits: map[string]int{
			"events_per_modality": MaxEvents, "active_ms": MaxActiveMS, "clock_ms": MaxClockMS,
		},
		Example: ExampleJSON(),
	}
}

// keystrokeCells lists hold (h), press-press (pp) and release-press (rp) residuals, their spreads, and rates per key.
func keystrokeCells() []Cell {
	t := tables
	var out []Cell
	add := func(name, unit string, lo, hi float64, format string, args ...any) {
		out = append(out, Cell{name, Keystroke, fmt.Sprintf(format, args...), unit, lo, hi})
	}
	for _, g := range keyGroups {
		add("h:"+g, "log ms", t.Clip.Hold[0], t.Clip.Hold[1],
			"hold time of keys of group %s: log(clip(hold,25,400)) less %g, for 0 < hold < 800 ms", g, t.Hold)
	}
	for _, c := range fineClasses {
		add("p:"+c, "log ms", t.Clip.PP[0], t.Clip.PP[1],
			"press to press within transition class %s: log(clip(PP,30,1000)) less %g, for 0 < PP < 1500 ms", c, t.PP)
	}
	for _, c := range fineClasses {
		add("r:"+c, "asinh", t.Clip.RP[0], t.Clip.RP[1],
			"release to next press in class %s (negative is overlap): asinh(clip(RP,-250,1000)/50) less %g", c, t.RP)
	}
	for _, g := range coarseGroups {
		add("hs:"+g, "log ms", 0, span(t.Clip.Hold), "spread of hold in group %s: absolute value of the h residual", g)
	}
	for _, c := range coarseClasses {
		add("ps:"+c, "log ms", 0, span(t.Clip.PP), "spread of press to press in class %s: absolute value of the p residual", c)
	}
	add("bs:all", "share", 0, 1, "share of presses that are backspace or delete")
	add("sh:all", "share", 0, 1, "share of presses that are shift or caps lock")
	add("pause5:all", "share", 0, 1, "share of press to press times over 500 ms")
	add("pause10:all", "share", 0, 1, "share of press to press times over 1000 ms")
	add("ovl:ll", "share", 0, 1, "share of letter to letter transitions whose keys overlap (RP < 0)")
	add("ovl:sp", "share", 0, 1, "share of transitions with the space bar whose keys overlap")
	add("ovl:o", "share", 0, 1, "share of all other transitions whose keys overlap")
	add("caps:c", "share", 0, 1, "share of shift presses that are caps lock")
	add("bsrun:c", "share", 0, 1, "share of backspaces followed by another backspace")
	add("pbefBS:c", "log ms", math.Log(30), math.Log(3000), "press to press from another key to a backspace: log(clip(PP,30,3000))")
	add("shhold:c", "log ms", math.Log(25), math.Log(2000), "hold time of shift: log(clip(hold,25,2000))")
	return out
}

// span returns the largest magnitude within a clip.
func span(clip [2]float64) float64 { return math.Max(math.Abs(clip[0]), math.Abs(clip[1])) }
