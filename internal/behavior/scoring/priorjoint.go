package scoring

// Shares of the noise of cells that count the same events. The time from release to press is the time from press to press less the hold,
// so the two err together. Where times are far above the typical one, their distance from it is their mean in different words.
const (
	commonPress = .6
	commonSlow  = .3
)

// commonShift and commonErase are of the cells that count the presses of shift and the first correction.
var (
	commonShift = map[string]float64{"h": .6, "hs": .6, "shhold": .3}
	commonErase = map[string]float64{"ps": .6, "pbefBS": .5}
)

// share states which cells count the same events.
func (s *stated) share(family, class string) {
	switch {
	case family == "p" || family == "r":
		s.events, s.common = class, commonPress
	case class == "let_BS" || family == "pbefBS":
		s.events, s.common = "let_BS", commonErase[family]
	case family == "ps" && (thought(class) || class == "BS_BS"):
		s.events, s.common = class, commonSlow
	case class == "SH" || family == "shhold":
		s.events, s.common = "SH", commonShift[family]
	}
}
