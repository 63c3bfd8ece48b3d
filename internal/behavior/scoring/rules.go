package scoring

// RuleVersion names the claim rules and thresholds of this file; every profile is stamped with it.
const RuleVersion = "cs-rules-3"

// Continuity thresholds on the log-likelihood ratio, and how much evidence each status takes. Their measured false match
// and false non-match rates are in docs/accuracy.md; the targets are 0.1 % false match for confirmed, 1 % for likely.
const (
	confirmLLR  = 13
	likelyLLR   = 4
	revokeLLR   = -6 // the last chunk alone
	rejectLLR   = 2  // the long window with confirmKeys and more: the odds are even here
	confirmKeys = 100
	likelyKeys  = 50
)

// Windows. A chunk is the shortest evidence scored alone; the long window is the last chunks of the session.
const (
	chunkKeys       = 40
	windowKeys      = 500
	windowMS        = 10 * 60_000
	chunkActiveMS   = 15_000
	windowActiveMS  = 60_000
	maxChunks       = 12          // bounds the state whatever a client sends
	staleMS         = 10 * 60_000 // presence is no more than likely
	expiredMS       = 60 * 60_000 // and then unknown
	recentVerdicts  = 3
	operatorWasLLR  = likelyLLR
	futureSkewMS    = 120_000
	coarseClockMS   = 50
	minFilledCells  = 35 // fewer cells in a window of partialKeys: few kinds of transition, for example a few keys only
	tableCoverage   = 0.6
	contradictSlack = 2_000
)

// Pointer continuity. Pointer alone is never more than likely.
const (
	pointerLikelyShortLLR = 14 // under a minute
	pointerLikelyLongLLR  = 15
	pointerRejectLLR      = -6
	pointerLikelyMS       = 30_000
	fusionWeight          = 0.5 // of the pointer's ratio in the sum; its background stands on few people
	fusionGain            = 3   // most a pointer may add
	fusionLoss            = 7   // most a pointer may take
)

// Coverage by keys merged and by pointer active time.
const (
	sparseKeys       = 20
	partialKeys      = 50
	sufficientKeys   = 150
	sparsePointer    = 5_000
	partialPointer   = 15_000
	sufficientActive = 60_000
)

// Enrolment.
const (
	readySessions       = 3
	readySessionKeys    = 100
	provisionalKeys     = 250 // of one session, or
	provisionalSessions = 2   // of readySessionKeys: two days tell more than one long one
	maxSessions         = 5
	anchorSessions      = 3 // enrolment sessions adaptation may never push out
	pointerReadyMS      = 60_000
	maxSessionCount     = 256 // counts above this add nothing: day-to-day change dominates
	adaptMinKeys        = 150
	adaptMinIntervalMS  = 20 * 3_600_000
	adaptStep           = 0.5 // most deviations of day-to-day change one adaptation may move a cell from the anchors
	galleryFrames       = 64
	inconsistentSession = -7
	misfitSession       = -10 // log-likelihood ratio of a session against the others of its enrolment; below, it is not learned from
	judgedSessions      = 20  // newest sessions of an enrolment that are held against each other; bounds the cost
)

// Replay. Frames are compared as passages: frames of fewer keys are put together until they hold passageKeys. Thresholds and
// how they were chosen are in docs/accuracy.md.
const (
	passageKeys    = 20
	replayDistance = 0.25 // mean absolute difference of two passages in deviations, over the cells both have
	replayCells    = 30
	replayOverlap  = 0.8
	recentPrints   = 8  // passages of the session itself
	storedPrints   = 16 // bound of a stored state
	recentDigests  = 64 // exact ones are the service's to find, in any session; these are found without it
)

// Comparison with the passages seen of a subject. Its ratio is the log-likelihood that two passages are one recording rather
// than two of one person.
const (
	recordedRatio  = 0.1 // variance between two copies of a recording, as a share of that between two recordings
	recordedNoise  = 0.4 // variance of a cell's mean between two passages of one person, as a share of one event's
	recordedLLR    = 40  // one passage, or two that are short
	recutLLR       = 42  // recutPassages put together: copies cut at other borders
	recutPassages  = 4
	recutNearLLR   = -15 // a copy overlaps in part with what it was cut from
	ownAmongNewest = 128 // among which a session's own newest passages are, whatever others of the person are under way
	recutNearMost  = 12  // bounds the work
	recutReach     = 5   // passages before such a one that a copied run may begin
	recutShortest  = 0.75
	recutLongest   = 1.35 // keys of what is compared, as a share of the other's
	spreadSamples  = 16
	spreadPrior    = 50 // cells that say a person's passages differ as much as people's do
	spreadCap      = 6
	spreadExpected = 1.2
	spreadLeast    = 0.02
	spreadMost     = 2
)
