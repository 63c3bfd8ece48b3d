package challenge

import (
	"net/url"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
)

// The states that the page knows beyond those of a challenge.
const (
	stateOpen      = string(models.ChallengeOpen)
	stateNoPasskey = "no_passkey" // the one way to answer is a passkey, and the person has none
	stateGone      = "gone"       // the link opens nothing (any more)
)

// ending is one way in which the page ends. The server shows the one that is; the script shows one when it comes about.
type ending struct {
	State, Tone   string
	Heading, Text string
}

// endings are all of them, in words for the person. None tells the decision that follows from a completion.
func endings(by string) []ending {
	return []ending{
		{string(models.ChallengeCompleted), "good", "Confirmed", "Your confirmation has gone to " + by + ". You can close this page."},
		{string(models.ChallengeCancelled), "neutral", "Cancelled", "Nothing was confirmed. If you did not ask for this, tell " + by + "."},
		{string(models.ChallengeExpired), "warn", "Time ran out", "Nothing was confirmed. If you still want this, start again at " + by + "."},
		{string(models.ChallengeFailed), "bad", "Stopped for your safety", "Too many attempts were refused, so this request is closed. Nothing was confirmed. Start again at " + by + "."},
		{stateNoPasskey, "warn", "You have no passkey here", "This must be confirmed with a passkey, and none of yours is registered with " + by + ". Nothing was confirmed."},
		{stateGone, "warn", "This link does not work any more", "Nothing was confirmed here. Ask " + by + " for a new link."},
	}
}

func state(v challenge.Visit) string { return string(v.Status) }

func titleOf(v view) string {
	for _, e := range v.Endings {
		if e.State == v.State {
			return e.Heading
		}
	}
	return "Confirm: " + web.Plain(v.Display.Action)
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// refusalText says in the person's words why an answer was not accepted.
func refusalText(code problem.Code, by string) string {
	switch code {
	case problem.AssertionUnknownKey, problem.AssertionUserHandle:
		return "That passkey is not one of yours with " + by + ". Choose another one."
	case problem.AssertionUnverified:
		return "Your device did not check that it is you, by fingerprint, face or PIN. Try again, or use another device."
	case problem.AssertionCloned:
		return "There may be a copy of that passkey, so it was not accepted. Use another one, and tell " + by + "."
	case problem.AssertionOrigin, problem.AssertionRPID:
		return "This page may not use your passkeys with " + by + ". Tell them, please."
	case problem.MethodNotOffered:
		return "This request cannot be confirmed that way."
	default:
		return "Your passkey was not accepted. Try again, or use another one."
	}
}
