package challenge

import (
	"net/url"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
)

// The states of the page in addition to those of a challenge.
const (
	stateOpen      = string(models.ChallengeOpen)
	stateNoPasskey = "no_passkey" // only a passkey is accepted and the user has none
	stateGone      = "gone"       // the link is unknown, used or expired
)

// ending is one final panel of the page. All are rendered; the server and the script unhide the one that applies.
type ending struct {
	State, Tone   string
	Heading, Text string
}

// endings returns all final panels. None reveals the follow-up decision of a completed challenge.
func endings(by string) []ending {
	return []ending{
		{string(models.ChallengeCompleted), "good", "Confirmed", "You confirmed the request of " + by + ". You can close this page."},
		{string(models.ChallengeCancelled), "neutral", "Cancelled", "Nothing was confirmed. If you did not make this request, contact " + by + "."},
		{string(models.ChallengeExpired), "warn", "Time ran out", "Nothing was confirmed. To try again, start over at " + by + "."},
		{string(models.ChallengeFailed), "bad", "Stopped for your safety", "Too many attempts failed and the request was closed. Nothing was confirmed. Start over at " + by + "."},
		{stateNoPasskey, "warn", "You have no passkey here", "This request requires a passkey, and you have none registered with " + by + ". Nothing was confirmed."},
		{stateGone, "warn", "This link no longer works", "Nothing was confirmed. Ask " + by + " for a new link."},
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

// refusalText returns the message for the user when a confirmation is refused.
func refusalText(code problem.Code, by string) string {
	switch code {
	case problem.AssertionUnknownKey, problem.AssertionUserHandle:
		return "This passkey is not registered to your account with " + by + ". Choose a different one."
	case problem.AssertionUnverified:
		return "Your device did not verify you by fingerprint, face or PIN. Try again, or use a different device."
	case problem.AssertionCloned:
		return "This passkey may have been copied and was not accepted. Use a different one and contact " + by + "."
	case problem.AssertionOrigin, problem.AssertionRPID:
		return "This page is not allowed to use your passkeys with " + by + ". Contact them."
	case problem.MethodNotOffered:
		return "This request does not accept this method."
	default:
		return "Your passkey was not accepted. Try again, or use a different one."
	}
}
