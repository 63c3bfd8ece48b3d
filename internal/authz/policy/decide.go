package policy

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// Assurance is the part of an assurance profile a decision looks at.
type Assurance struct {
	Claims               []Claim
	Coverage             Coverage
	FreshnessMS          *int64 // age of the newest evidence, milliseconds; nil if there is none
	InsufficientEvidence bool   // the assessor reports too little evidence
	ReasonCodes          []string
}

// Claim is one claim of an assurance profile. Its own coverage explains its status; coverage_min is checked against the
// profile's.
type Claim struct {
	Name        string
	Status      Status
	Coverage    Coverage
	FreshnessMS *int64 // age of the newest evidence that supports this claim, milliseconds; nil if there is none
	ReasonCodes []string
}

// Input is everything a decision depends on.
type Input struct {
	Requirements       Requirements // resolved or not
	Environment        EnvironmentKind
	Mode               Mode // used in texts only: every mode decides the same way
	Assurance          Assurance
	SubjectRevoked     bool
	SubjectSuspected   bool // a security event about the subject requires a challenge for now
	ActionArchived     bool
	UsableMethods      []Method       // methods that the subject could use now: passkey only if one is registered
	ChallengesUsed     int            // challenges opened in the chain of parents, whatever their outcome
	ChallengeCompleted Method         // method of a challenge completed in the chain of parents; "" if there is none
	HoldApproved       bool           // a reviewer approved a hold in the chain of parents
	BreakGlass         bool           // one of those approvals was a break-glass; used in texts only
	StandingAsked      StandingSource // the request asks for a standing approval by this source; "" for an ordinary one
	Standing           *GivenStanding // the standing approval that the request uses; nil for none
	Lists              []ListRead     // what the conditions of rules read of lists, for the explanation
	Rules              []MatchedRule  // the rules of Requirements that apply to this request; the order has no effect on Effect
}

// RequirementResult is the result of one requirement. The strictest Effect of all results is the decision.
type RequirementResult struct {
	Requirement   string `json:"requirement"` // such as "coverage", "claims.human_presence", "deny_on"
	Wanted        string `json:"wanted"`
	Found         string `json:"found"`
	Passed        bool   `json:"passed"`                   // met, or compensated by CompensatedBy
	Effect        Effect `json:"effect"`                   // allow if it passed
	CompensatedBy string `json:"compensated_by,omitempty"` // "passkey", "sandbox_confirm", "hold_approved" or "standing_approval"
	// Shown are the details that a rule read, and the sums of such. They are stored without values, which are sealed apart (internal/authz/display).
	Shown []ShownValue `json:"shown,omitempty"`
}

// ShownValue is a detail of the request that a person is shown. Value is empty if it is not stored, or past its retention.
type ShownValue struct {
	Label string `json:"label"`
	Value string `json:"value,omitempty"`
}

// HumanReadable is the decision in words, for a log or a support screen.
type HumanReadable struct {
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// Decision is the effect, with the reasons for it.
type Decision struct {
	Effect        Effect
	ReasonCodes   []string // in order of precedence, without repetition, never empty; then those of detected automation and replay
	Methods       []Method // methods that can complete the challenge; nil unless Effect is Challenge
	Explanation   []RequirementResult
	HumanReadable HumanReadable
	// ByEvidence reports that fresh evidence itself met a minimum on a claim about the user, and showed neither automation nor
	// replay. Otherwise the decision is based on something else, whatever evidence there was.
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
	reqSignal     = "security_event"
	reqApproval   = "explicit_approval"
	reqMethod     = "challenge_method"
	reqChallenges = "max_challenges"
)

// Decide applies the requirements to the facts.
//
// Every requirement is checked, in the order deny_on, hold_on, insufficient evidence, coverage, freshness, claim
// minimums, security event, explicit approval. Each failed one has an effect, and the strictest effect wins. Insufficient evidence, coverage
// below the minimum and stale evidence have the effect that insufficient_evidence names. A claim below its minimum leads to a
// challenge if the user can confirm it by one, and to a hold otherwise (automation, replay and operator change).
//
// A completed challenge compensates the failed requirements that challenge_compensates lists, whatever their effect
// (insufficient evidence is listed as "coverage"), and explicit approval. An approved hold compensates every other failed
// requirement that does not deny, unless approval_compensates leaves it out. It compensates stale evidence even if that denies,
// because waiting for the reviewer made the evidence stale. What an approved hold leaves requires a challenge, or denies if no
// challenge can satisfy it: no hold follows an approved one, which a reviewer could approve without end. deny_on and hold_on match the codes of the profile, of its claims and of the requirements that still fail;
// nothing compensates a deny_on match.
//
// A challenge that is due but impossible, because no method is usable or max_challenges is reached, becomes a hold; after an approved
// hold it denies.
//
// The requirements of the matched rules are merged first, by Merge. A rule never leads to a looser decision than the policy
// without it.
func Decide(in Input) Decision {
	in.Requirements = in.Requirements.Resolve(in.Environment)
	if len(in.Rules) > 0 {
		return applyRules(in).decision()
	}
	return evaluate(in, nil).decision()
}

// evaluate checks every requirement. The codes of the matched rules count as present.
func evaluate(in Input, matched []MatchedRule) *evaluation {
	e := &evaluation{
		in: in, permitted: in.Requirements.methods(in.Environment), ruleCodes: ruleCodes(matched),
		results: make([]RequirementResult, 0, usualResults+len(in.Requirements.Claims)),
	}
	e.codes = e.firstCodes[:0]

	e.checkStanding()
	lists := len(e.results) // position of deny_on and hold_on, which need the codes of the later checks
	e.checkEvidence()
	e.checkClaims()
	e.checkSignal()
	e.checkApproval()
	e.checkAsked()
	e.checkChallenge()
	e.insertLists(lists)
	e.explainRules(matched)
	e.explainLists(in.Lists)
	e.explainReview()
	return e
}

// usualResults is the number of results that most allowed decisions have besides those of claims: standing, lists and evidence.
const usualResults = 7

// evaluation collects results while Decide checks the requirements.
type evaluation struct {
	in        Input
	permitted []Method // methods the policy permits in this environment
	results   []RequirementResult
	codes     [][]string // codes[i] belongs to results[i]
	usable    []Method   // permitted and usable; set when a challenge is due
	challenge bool       // a completed challenge compensated something
	standing  bool       // a standing approval did
	behaviour bool       // evidence met a minimum on a claim about the user
	ruleCodes []string   // codes of the matched rules

	firstCodes [usualResults + 3][]string // memory of codes
}

// requirement is a check before compensation.
type requirement struct {
	name          string
	wanted, found string
	met           bool
	effect        Effect
	code          string
	further       []string // codes after it
	compensation  string   // the name by which challenge_compensates and approval_compensates list it; "" if a challenge cannot compensate it
	survivesHold  bool     // an approved hold compensates it even if it denies
}

// add applies compensation to a check and appends its result.
func (e *evaluation) add(r requirement) {
	result := RequirementResult{Requirement: r.name, Wanted: r.wanted, Found: r.found, Passed: true, Effect: Allow}
	var codes []string
	switch {
	case r.met:
	case e.compensated(r.compensation):
		result.CompensatedBy = string(e.in.ChallengeCompleted)
		e.challenge = true
	case e.approved(r):
		result.CompensatedBy = reason.HoldApproved
	case e.stands(r):
		result.CompensatedBy = reason.StandingApproval
		e.standing = true
	default:
		result.Passed, result.Effect, codes = false, e.remaining(r), append([]string{r.code}, r.further...)
	}
	e.results = append(e.results, result)
	e.codes = append(e.codes, codes)
}

// completed reports whether a challenge was completed with a method that the policy permits in this environment.
func (e *evaluation) completed() bool {
	return slices.Contains(e.permitted, e.in.ChallengeCompleted)
}

// compensated reports whether a completed challenge compensates the requirement of this name.
func (e *evaluation) compensated(name string) bool {
	return name != "" && e.completed() && slices.Contains(e.in.Requirements.ChallengeCompensates, name)
}

// approved reports whether an approved hold compensates the requirement.
func (e *evaluation) approved(r requirement) bool {
	return e.in.HoldApproved && (r.effect.Severity() < Deny.Severity() || r.survivesHold) && e.in.Requirements.approvalCompensates(r.compensation)
}

// remaining returns the effect of a requirement that nothing compensates. After an approved hold it is a challenge if one can
// satisfy the requirement, and deny otherwise.
func (e *evaluation) remaining(r requirement) Effect {
	switch {
	case !e.in.HoldApproved || r.effect.Severity() >= Deny.Severity():
		return r.effect
	case e.in.Requirements.challengeSatisfies(r.compensation):
		return Challenge
	default:
		return Deny
	}
}

// worst returns the strictest effect among the results so far.
func (e *evaluation) worst() Effect {
	worst := Allow
	for _, r := range e.results {
		if r.Effect.Severity() > worst.Severity() {
			worst = r.Effect
		}
	}
	return worst
}

// forged reports whether the evidence shows automation or replay, whether or not the requirements include those claims.
func (e *evaluation) forged() bool {
	return slices.ContainsFunc(e.in.Assurance.Claims, Claim.forged)
}

// forged reports whether the claim is that automation or replay was detected.
func (c Claim) forged() bool {
	return (c.Name == Automation || c.Name == EvidenceReplay) && c.Status == Detected
}

// decision returns the strictest effect with the codes in order of precedence.
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
	if d.Effect == Allow && e.standing {
		d.ReasonCodes = appendNew(d.ReasonCodes, reason.StandingApproval)
	}
	if len(d.ReasonCodes) == 0 {
		d.ReasonCodes = []string{reason.RequirementsMet}
	}
	if d.Effect == Challenge {
		d.Methods = e.usable
	}
	d.HumanReadable = e.humanReadable(d)
	for _, c := range e.in.Assurance.Claims { // also if the policy does not require it: readers of the decision should know
		if c.forged() {
			for _, code := range c.ReasonCodes {
				d.ReasonCodes = appendNew(d.ReasonCodes, code)
			}
		}
	}
	for _, code := range e.ruleCodes { // last: they explain the requirements, not the decision
		d.ReasonCodes = appendNew(d.ReasonCodes, code)
	}
	return d
}

// appendNew appends a code unless the list has it.
func appendNew(codes []string, code string) []string {
	if slices.Contains(codes, code) {
		return codes
	}
	return append(codes, code)
}
