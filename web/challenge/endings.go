package challenge

import (
	"net/url"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/models"
)

// The states of the page in addition to those of a challenge.
const (
	stateOpen      = string(models.ChallengeOpen)
	stateNoPasskey = "no_passkey" // only a passkey is accepted and the user has none
	stateGone      = "gone"       // the link is unknown, used or expired
	stateClosed    = "closed"     // the link is for a client and this browser has not opened it
)

// ending is one final panel of the page. All are rendered; the server and the script unhide the one that applies.
type ending struct{ State, Tone string }

// Heading and Text are the keys of the panel's messages.
func (e ending) Heading() string { return "ending." + e.State + ".heading" }

// Text is the key of the panel's text.
func (e ending) Text() string { return "ending." + e.State + ".text" }

// Receipt reports whether the panel says what was confirmed, when, and to whom.
func (e ending) Receipt() bool { return e.State == string(models.ChallengeCompleted) }

// endings are all final panels. None reveals the follow-up decision of a completed challenge.
var endings = []ending{
	{string(models.ChallengeCompleted), "good"}, {string(models.ChallengeCancelled), "neutral"}, {string(models.ChallengeExpired), "warn"},
	{string(models.ChallengeFailed), "bad"}, {stateNoPasskey, "warn"}, {stateGone, "warn"},
}

// linkTone is the tone of the page of a link that opens nothing.
func linkTone(link challenge.LinkState) string {
	if link == challenge.LinkUsed {
		return "good"
	}
	return "warn"
}

func state(v challenge.Visit) string {
	if v.Closed && v.Status == models.ChallengeOpen {
		return stateClosed
	}
	return string(v.Status)
}

func titleOf(v view) (string, error) {
	for _, e := range v.Endings {
		if e.State == v.State {
			return v.Frame.Text(e.Heading())
		}
	}
	if v.State == stateClosed {
		return v.Frame.Text("closed.heading")
	}
	return v.Frame.Text("request.title", "action", v.Text.Name)
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}
