package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

// going are the entries of records with endings that end nothing.
var going = []events.Type{
	events.ChallengeRequested, events.ChallengeAttemptFailed, events.ChallengeLinkCreated, events.ChallengeLinkOpened, events.ChallengeLinkRefused,
	events.HoldOpened, events.HoldReminder, events.HoldEscalated, events.HoldReviewed, events.HoldAssigned, events.HoldStepApproved, events.HoldStepOpened, events.HoldGlassBroken,
	events.ProofRead, events.SessionStarted, events.SessionAnomaly, events.EvaluationCreated, events.RecoveryStarted, events.RecoveryReady, events.ChangeRequested,
}

// A new type of entry of such a record ends it or does not. It is declared as one of the two.
func TestEndingsNameEveryTypeOfTheirRecords(t *testing.T) {
	t.Parallel()
	for _, e := range endings {
		for _, typ := range events.Types() {
			if strings.HasPrefix(string(typ), e.record+".") {
				require.NotEqual(t, slices.Contains(going, typ), slices.Contains(e.types, typ), "%s ends a %s, or goes on: say which", typ, e.record)
			}
		}
	}
}
