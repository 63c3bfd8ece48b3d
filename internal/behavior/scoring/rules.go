package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// RuleVersion names the rules and thresholds of this file. Every profile contains it: change it with any of them.
const RuleVersion = "cs-rules-7"

// Continuity thresholds on the log-likelihood ratio (natural logarithm), for a background learned from many people, and the keys that
// each status requires. The margin of the background is added to the first three, and half of it to the limits of sessions of an
// enrollment: a population that is known from few people explains strangers less well than it should, so ratios are too large. Measured
// false match and false non-match rates are in docs/accuracy.md; the targets are 0.1 % false matches for confirmed and 1 % for likely.
const (
	confirmLLR = 25
	likelyLLR  = 5
	// For the long window with confirmKeys or more.
	rejectLLR = 2
	// For the last chunk alone.
	revokeLLR   = -4
	confirmKeys = 100
	likelyKeys  = 50
)

// confirmPeople is the least number of people for a claim above likely.
const confirmPeople = 30

// margins say how the margin shrinks as people enroll: that of a background that no person was recorded for, and the people at which half of
// it remains.
var margins = map[features.Modality]struct{ prior, people float64 }{features.Keystroke: {13, 12}, features.Pointer: {12, 8}}

// margin returns what is added to the thresholds of ratios, because the background is uncertain.
func (b *Background) margin() float64 {
	m := margins[b.Modality]
	return m.prior / (1 + float64(b.Card.People)/m.people)
}

// shortRatio returns the ratio of a chunk or frame alone, less its margin: half of that of a window, which has several times its keys.
func (b *Background) shortRatio(p posterior, v features.Vector) float64 {
	return llr(b, p, v) - b.margin()/2
}

// fewPeople reports whether the background rests on too few people for a claim above likely.
func (b *Background) fewPeople() bool { return b.Card.People < confirmPeople }

// Windows. A chunk is the shortest evidence scored alone; the long window consists of the last chunks of the session.
const (
	chunkKeys      = 40
	windowKeys     = 500
	windowMS       = 10 * 60_000
	chunkActiveMS  = 15_000
	windowActiveMS = 60_000
	// Limits the size of the state, regardless of what a client sends.
	maxChunks = 12
	// After this age presence is at most likely.
	staleMS = 10 * 60_000
	// After this age presence is unknown.
	expiredMS      = 60 * 60_000
	recentVerdicts = 3
	futureSkewMS   = 120_000
	coarseClockMS  = 50
	// Fewer cells in a window of partialKeys: few kinds of transition, for example a few keys only.
	minFilledCells  = 35
	contradictSlack = 2_000
)

// Pointer continuity. The pointer alone is at most likely.
const (
	// For less than a minute of use.
	pointerLikelyShortLLR = 14
	pointerLikelyLongLLR  = 15
	pointerRejectLLR      = -6
	pointerLikelyMS       = 30_000
	// Weight of the pointer's ratio in the sum; its background was trained on few people.
	fusionWeight = 0.5
	// The most that the pointer may add.
	fusionGain = 3
	// The most that the pointer may subtract.
	fusionLoss = 7
)

// Coverage by keys and by pointer use (ms).
const (
	sparseKeys       = 20
	partialKeys      = 50
	sufficientKeys   = 150
	sparsePointer    = 5_000
	partialPointer   = 15_000
	sufficientActive = 60_000
)

// Enrollment and adaptation.
const (
	readySessions    = 3
	readySessionKeys = 100
	// Keys of a single session that suffice for a provisional template.
	provisionalKeys = 250
	// Sessions of readySessionKeys that suffice for a provisional template: two days are worth more than one long session.
	provisionalSessions = 2
	maxSessions         = 5
	// Enrollment sessions that adaptation never replaces.
	anchorSessions = 3
	pointerReadyMS = 60_000
	// Counts above this add nothing: day-to-day change dominates.
	maxSessionCount    = 256
	adaptMinKeys       = 150
	adaptMinIntervalMS = 20 * 3_600_000
	// The most standard deviations of day-to-day change that an adapted cell may differ from the anchors.
	adaptStep           = 0.5
	galleryFrames       = 64
	inconsistentSession = -7
	// Log-likelihood ratio of a session against the others of its enrollment; below it the session is not used.
	misfitSession = -7
	// Newest sessions of an enrollment that are compared with each other; limits the cost.
	judgedSessions = 20
)

// Replay. Frames are compared as passages: short frames are merged until they have passageKeys keys. docs/accuracy.md explains how the
// thresholds were chosen.
const (
	passageKeys = 20
	// Mean absolute difference of two passages in deviations, over the cells both have.
	replayDistance = 0.25
	replayCells    = 30
	replayOverlap  = 0.8
	// Passages of the session itself that are stored.
	recentPrints = 8
	// Limit of a stored state.
	storedPrints = 16
	// Exact repetitions within the session; the service finds those of other sessions.
	recentDigests = 64
)

// Comparison with the known passages of a subject. The ratio is the log-likelihood that two passages are one recording rather than two
// recordings of one person.
const (
	// Variance between two copies of a recording, as a share of that between two recordings.
	recordedRatio = 0.1
	// Variance of a cell's mean between two passages of one person, as a share of one event's.
	recordedNoise = 0.4
	// For one passage, or two short ones.
	recordedLLR = 40
	// recutPassages put together: copies cut at other borders.
	recutLLR      = 42
	recutPassages = 4
	// A copy overlaps in part with what it was cut from.
	recutNearLLR = -15
	// Among which a session's own newest passages are, whatever others of the person are under way.
	ownAmongNewest = 128
	// Bounds the work.
	recutNearMost = 12
	// Passages before such a one that a copied run may begin.
	recutReach    = 5
	recutShortest = 0.75
	// Keys of what is compared, as a share of the other's.
	recutLongest  = 1.35
	spreadSamples = 16
	// Cells that say a person's passages differ as much as people's do.
	spreadPrior    = 50
	spreadCap      = 6
	spreadExpected = 1.2
	spreadLeast    = 0.02
	spreadMost     = 2
)
