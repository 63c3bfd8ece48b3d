package features

import "math"

// gazeCells are values that an eye tracker's own software can report. The service has no extractor for them: neither camera frames
// nor gaze positions ever reach this code.
func gazeCells() []Cell {
	c := func(name, unit string, lo, hi float64, def string) Cell { return Cell{name, Gaze, def, unit, lo, hi} }
	return []Cell{
		c("gz:lfix", "log ms", math.Log(40), math.Log(5000), "log(clip(fixation duration,40,5000))"),
		c("gz:lsacc", "log ms", math.Log(5), math.Log(500), "log(clip(saccade duration,5,500))"),
		c("gz:lamp", "log deg", math.Log(.1), math.Log(60), "log(clip(saccade amplitude,.1,60))"),
		c("gz:lpeak", "log deg/s", math.Log(5), math.Log(1500), "log(clip(peak saccade velocity,5,1500))"),
		c("gz:regress", "share", 0, 1, "share of saccades against the reading direction"),
		c("gz:lblink", "log ms", math.Log(40), math.Log(1000), "log(clip(blink duration,40,1000))"),
		c("gz:lbgap", "log ms", math.Log(200), math.Log(60000), "log(clip(time between blinks,200,60000))"),
	}
}
