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

// Replay: mean absolute difference of two frames in deviations, over the cells both have.
const (
	replayDistance = 0.30
	replayCells    = 30
	replayOverlap  = 0.8
	recentPrints   = 16
	recentDigests  = 64
)
