package decisions

import (
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/web/console/show"
)

// evidenceLine is one thing that the evidence says, in words. Its tone is that of a tag: what was not assessed has none.
type evidenceLine struct {
	Name, Text, Tone string
}

// claimLabels name the claims for a reviewer.
var claimLabels = map[string]string{
	policy.OperatorContinuity: "Typing", policy.HumanPresence: "Presence", policy.Automation: "Automation", policy.EvidenceReplay: "Replay",
	policy.OperatorChange: "Change of person",
}

// claimTexts say what the status of a claim means.
var claimTexts = map[string]map[policy.Status]string{
	policy.OperatorContinuity: {
		policy.Confirmed: "The enrolled person.", policy.Likely: "Likely the enrolled person.",
		policy.Uncertain: "Possibly the enrolled person.", policy.NotConfirmed: "Not like the enrolled person.",
	},
	policy.HumanPresence: {
		policy.Confirmed: "A person types.", policy.Likely: "Likely a person.", policy.Uncertain: "Possibly a person.", policy.NotConfirmed: "Not like a person.",
	},
	policy.Automation:     {policy.NotDetected: "No program seems to type.", policy.Detected: "A program seems to type."},
	policy.EvidenceReplay: {policy.NotDetected: "These keystrokes were not sent before.", policy.Detected: "These keystrokes were sent before."},
	policy.OperatorChange: {policy.NotDetected: "One person throughout the session.", policy.Detected: "The person seems to have changed during the session."},
}

// claimTones are the tones of the statuses.
var claimTones = map[policy.Status]string{
	policy.Confirmed: "good", policy.Likely: "good", policy.NotDetected: "good", policy.Uncertain: "warn", policy.NotConfirmed: "bad", policy.Detected: "bad",
}

// evidenceOf says in words what the evidence of a decision says about each claim.
func evidenceOf(e audit.Evidence) []evidenceLine {
	if e.Windows == 0 {
		return []evidenceLine{{Text: "No typing in this session: not assessed."}}
	}
	var out []evidenceLine
	for _, c := range e.Claims {
		status := policy.Status(c.Status)
		if status == policy.StatusUnsupported {
			continue
		}
		line := evidenceLine{Name: claimLabels[c.Name], Text: claimTexts[c.Name][status], Tone: claimTones[status]}
		if line.Name == "" {
			line.Name = show.Capital(show.Plain(c.Name))
		}
		switch {
		case status == policy.StatusInsufficient:
			line.Text, line.Tone = "Too little evidence: not assessed.", ""
		case line.Text == "":
			line.Text = show.Capital(show.Plain(c.Status)) + "."
		}
		out = append(out, line)
	}
	return out
}
