package show

import (
	"cmp"
	"strings"
)

// CodeWords returns reason codes in words, as one text.
func CodeWords(codes []string) string {
	out := make([]string, len(codes))
	for i, c := range codes {
		out[i] = cmp.Or(CodeSentences[c], Plain(c))
	}
	return strings.Join(out, ", ")
}

// CodeSentences say what the codes of a decision mean, for the list of holds.
var CodeSentences = map[string]string{
	"operator_continuity_not_met": "typing not like the enrolled person", "human_presence_not_met": "not like a person",
	"automation_not_met": "a program seems to type", "evidence_replay_not_met": "keystrokes sent before", "operator_change_not_met": "the person seems to have changed",
	"coverage_below_minimum": "too little of the session measured", "freshness_exceeded": "evidence too old",
	"security_event": "the identity provider reported a security event", "explicit_approval_required": "needs the user's confirmation", "no_challenge_method": "no passkey to ask for", "max_challenges_reached": "challenged too often",
	"standing_approval": "a standing approval allowed it", "standing_approval_requested": "a standing approval is asked for",
	"subject_revoked": "the user is revoked", "action_archived": "the action is archived", "rule_failed": "a rule could not be evaluated",
}
