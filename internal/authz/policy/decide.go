package policy

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// Assurance is the part of an assurance profile a decision looks at.
type Assurance struct {
	Claims               []Claim
	Coverage             Coverage
	FreshnessMS          *int64 // age of the newest evidence, milliseconds; nil where there is none
	InsufficientEvidence bool   // the assessor's own word that it had too little to go by
	ReasonCodes          []string
}

// Claim is one claim of an assurance profile. Its own coverage explains its status; coverage_min is checked against the
// profile's.
type Claim struct {
	Name        string
	Status      Status
	Coverage    Coverage
	FreshnessMS *int64 // age of the newest evidence that can carry this claim, milliseconds; nil where there is none
	ReasonCodes []string
}

// Input is everything a decision depends on.
type Input struct {
	Requirements       Requirements // resolved or not
	Environment        EnvironmentKind
	Mode               Mode // words the answer; shadow decides the same way
	Assurance          Assurance
	SubjectRevoked     bool
	ActionArchived     bool
	UsableMethods      []Method // what the subject could complete a challenge with now: passkey only with one registered
	ChallengesUsed     int      // challenges opened in the chain of parents, whatever became of them
	ChallengeCompleted Method   // method of a challenge completed in the chain of parents; "" where there is none
	HoldApproved       bool     // a reviewer approved a hold in the chain of parents
}

// RequirementResult says how one requirement fared. The strictest Effect over all results is the decision.
type RequirementResult struct {
	Requirement   string `json:"requirement"` // such as "coverage", "claims.human_presence", "deny_on"
	Wanted        string `json:"wanted"`
	Found         string `json:"found"`
	Passed        bool   `json:"passed"`                   // met, or made good by what CompensatedBy names
	Effect        Effect `json:"effect"`                   // what this requirement leads to: allow where it passed
	CompensatedBy string `json:"compensated_by,omitempty"` // "passkey", "sandbox_confirm" or "hold_approved"
}

// HumanReadable is the decision in words, for a log or a support screen.
type HumanReadable struct {
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// Decision is the answer, with the reasons for it.
type Decision struct {
	Effect        Effect
	ReasonCodes   []string // in order of precedence, without repetition, never empty
	Methods       []Method // what a challenge may be completed with; nil unless Effect is Challenge
	Explanation   []RequirementResult
	HumanReadable HumanReadable
	// ByEvidence says that fresh evidence itself met a minimum on a claim about the person, and showed no program and no
	// replay: where it did not, the decision rests on something else, whatever evidence there was.
	ByEvidence bool
}

// Names of requirements in an explanation; a claim's is "claims." and its name.
const (
	reqSubject    = "subject"
	reqAction     = "action"
	reqDenyOn     = "deny_on"
	reqHoldOn     = "hold_on"
	reqEvidence   = "insufficient_evidence"
	reqCoverage   = "coverage"
	reqFreshness  = "freshness"
	reqClaim      = "claims."
	reqApproval   = "explicit_approval"
	reqMethod     = "challenge_method"
	reqChallenges = "max_challenges"
)

// Decide applies the requirements to the facts.
//
// Every requirement is checked, in the order deny_on, hold_on, insufficient evidence, coverage, freshness, claim
// minimums, explicit approval, and each failed one has an effect; the strictest wins. Too little evidence, coverage
// below the minimum and stale evidence have the effect that insufficient_evidence names. A claim below its minimum asks
// for a challenge where a person could vouch for it, and holds otherwise (automation, replay and operator change).
//
// A completed challenge makes good what challenge_compensates lists, whatever its effect (insufficient evidence goes by
// "coverage"), and explicit approval. An approved hold makes good all else but what denies; staleness it makes good
// even then, because waiting for a reviewer is what made the evidence stale. deny_on and hold_on see the codes of the
// profile, its claims and the requirements still failed; nothing makes a deny_on match good.
//
// A challenge that is due but cannot be given, for want of a usable method or because max_challenges is used up, is a
// hold.
func Decide(in Input) Decision {
	in.Requirements = in.Requirements.Resolve(in.Environment)
	e := &evaluation{in: in, permitted: in.Requirements.methods(in.Environment)}

	e.checkStanding()
	lists := len(e.results) // deny_on and hold_on stand here once the codes they look at are known
	e.checkEvidence()
	e.checkClaims()
	e.checkApproval()
	e.checkChallenge()
	e.insertLists(lists)
	return e.decision()
}

// evaluation collects results while Decide walks the requirements.
type evaluation struct {
	in        Input
	permitted []Method // methods the policy permits in this environment
	results   []RequirementResult
	codes     [][]string // codes[i] belongs to results[i]
	usable    []Method   // permitted and usable; set when a challenge is due
	challenge bool       // a completed challenge made something good
	behaviour bool       // evidence met a minimum on a claim about the person
}

// requirement is a check before its effect is settled.
type requirement struct {
	name          string
	wanted, found string
	met           bool
	effect        Effect
	codes         []string
	compensation  string // what challenge_compensates must list for a challenge to make it good; "" for never
	survivesHold  bool   // an approved hold makes it good even where it denies
}

func (e *evaluation) add(r requirement) {
	result := RequirementResult{Requirement: r.name, Wanted: r.wanted, Found: r.found, Passed: true, Effect: Allow}
	var codes []string
	switch {
	case r.met:
	case e.compensated(r.compensation):
		result.CompensatedBy = string(e.in.ChallengeCompleted)
		e.challenge = true
	case e.in.HoldApproved && (r.effect.Severity() < Deny.Severity() || r.survivesHold):
		result.CompensatedBy = reason.HoldApproved
	default:
		result.Passed, result.Effect, codes = false, r.effect, r.codes
	}
	e.results = append(e.results, result)
	e.codes = append(e.codes, codes)
}

// completed reports whether a challenge was completed by a method this policy and environment permit.
func (e *evaluation) completed() bool {
	return slices.Contains(e.permitted, e.in.ChallengeCompleted)
}

func (e *evaluation) compensated(name string) bool {
	return name != "" && e.completed() && slices.Contains(e.in.Requirements.ChallengeCompensates, name)
}

// worst is the strictest effect among the results so far.
func (e *evaluation) worst() Effect {
	worst := Allow
	for _, r := range e.results {
		if r.Effect.Severity() > worst.Severity() {
			worst = r.Effect
		}
	}
	return worst
}

// forged reports whether the evidence shows a program or a replay, whether or not the requirements ask for that claim.
func (e *evaluation) forged() bool {
	return slices.ContainsFunc(e.in.Assurance.Claims, func(c Claim) bool {
		return (c.Name == Automation || c.Name == EvidenceReplay) && c.Status == Detected
	})
}

func (e *evaluation) decision() Decision {
	d := Decision{Effect: e.worst(), Explanation: e.results, ByEvidence: e.behaviour && !e.forged()}
	for _, codes := range e.codes {
		for _, code := range codes {
			d.ReasonCodes = appendNew(d.ReasonCodes, code)
		}
	}
	if e.challenge {
		d.ReasonCodes = appendNew(d.ReasonCodes, reason.ChallengeSatisfied)
	}
	if d.Effect == Allow && e.in.HoldApproved {
		d.ReasonCodes = appendNew(d.ReasonCodes, reason.HoldApproved)
	}
	if len(d.ReasonCodes) == 0 {
		d.ReasonCodes = []string{reason.RequirementsMet}
	}
	if d.Effect == Challenge {
		d.Methods = e.usable
	}
	d.HumanReadable = e.humanReadable(d)
	return d
}

func appendNew(codes []string, code string) []string {
	if slices.Contains(codes, code) {
		return codes
	}
	return append(codes, code)
}
