package scoring

// Coverage is the amount of evidence, in four grades.
type Coverage string

// The coverages, least first.
const (
	CoverageNone       Coverage = "none"
	CoverageSparse     Coverage = "sparse"
	CoveragePartial    Coverage = "partial"
	CoverageSufficient Coverage = "sufficient"
)

// coverageRank orders the coverages.
var coverageRank = map[Coverage]int{CoverageNone: 0, CoverageSparse: 1, CoveragePartial: 2, CoverageSufficient: 3}

// Status is the status of a claim.
type Status string

// The claim statuses.
const (
	Confirmed    Status = "confirmed"
	Likely       Status = "likely"
	Uncertain    Status = "uncertain"
	NotConfirmed Status = "not_confirmed"
	Detected     Status = "detected"
	NotDetected  Status = "not_detected"
	Insufficient Status = "insufficient_evidence"
	Unsupported  Status = "unsupported"
)

// The claims of a profile.
const (
	ClaimContinuity = "operator_continuity"
	ClaimPresence   = "human_presence"
	ClaimAutomation = "automation"
	ClaimReplay     = "evidence_replay"
	ClaimChange     = "operator_change"
	ClaimMandate    = "agent_mandate"
)

// Claim is the AssuranceClaim of the API.
type Claim struct {
	Claim        string   `json:"claim"`
	Status       Status   `json:"status"`
	Coverage     Coverage `json:"coverage"`
	EvidenceRefs []string `json:"evidence_refs"`
	Limitations  []string `json:"limitations"`
	ReasonCodes  []string `json:"reason_codes"`
	FreshnessMS  *int64   `json:"freshness_ms"`
}

// Profile is the AssuranceProfile of the API without id, subject, session and assessed_at, which the caller adds.
type Profile struct {
	Claims               []Claim  `json:"claims"`
	Coverage             Coverage `json:"coverage"`
	InsufficientEvidence bool     `json:"insufficient_evidence"`
	EvidenceWindows      int      `json:"evidence_windows"`
	ActiveSeconds        float64  `json:"active_seconds"`
	ModalitiesPresent    []string `json:"modalities_present"`
	FreshnessMS          *int64   `json:"freshness_ms"`
	Limitations          []string `json:"limitations"`
	ModelVersion         string   `json:"model_version"`
	RuleVersion          string   `json:"rule_version"`
	FeatureSchemaVersion string   `json:"feature_schema_version"`
}

// Claim returns a claim of the profile by name; the zero Claim if the profile does not have it.
func (p Profile) Claim(name string) Claim {
	for _, c := range p.Claims {
		if c.Claim == name {
			return c
		}
	}
	return Claim{}
}

// Coverage returns the better of the coverages by keys and by pointer: either can carry a claim alone.
func (s State) Coverage() Coverage {
	return better(s.keyCoverage(), pointerCoverage(s.Pointer.activeMS()))
}

// keyCoverage returns the coverage by keys in the window, chunks set aside by a restart included.
func (s State) keyCoverage() Coverage {
	keys := s.Keystroke.seenKeys()
	switch {
	case keys >= sufficientKeys && s.Keystroke.filled() >= minFilledCells:
		return CoverageSufficient
	case keys >= partialKeys:
		return CoveragePartial
	case keys >= sparseKeys:
		return CoverageSparse
	}
	return CoverageNone
}

func pointerCoverage(activeMS float64) Coverage {
	switch {
	case activeMS >= sufficientActive:
		return CoverageSufficient
	case activeMS >= partialPointer:
		return CoveragePartial
	case activeMS >= sparsePointer:
		return CoverageSparse
	}
	return CoverageNone
}

func better(a, b Coverage) Coverage {
	if coverageRank[b] > coverageRank[a] {
		return b
	}
	return a
}

func (c Coverage) atLeast(want Coverage) bool { return coverageRank[c] >= coverageRank[want] }
