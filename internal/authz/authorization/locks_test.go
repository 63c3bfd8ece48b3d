package authorization

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// A decision that is made again uses the evidence that was signed, unless the session has ended or another has begun.
func TestEvidenceOfASignedDecisionIsKept(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	active := models.Session{ID: "ses_1", Status: models.SessionActive, Coverage: "partial"}
	for name, c := range map[string]struct {
		before *ahead
		read   *models.Session
		kept   bool
	}{
		"without locks":         {nil, &active, false},
		"first attempt":         {&ahead{}, &active, false},
		"more evidence":         {&ahead{id: "azn_1", at: now, session: &active}, &models.Session{ID: "ses_1", Status: models.SessionActive}, true},
		"the session has ended": {&ahead{id: "azn_1", at: now, session: &active}, &models.Session{ID: "ses_1", Status: models.SessionEnded}, false},
		"a later session":       {&ahead{id: "azn_1", at: now, session: &active}, &models.Session{ID: "ses_2", Status: models.SessionActive}, false},
		"the session is gone":   {&ahead{id: "azn_1", at: now, session: &active}, nil, false},
	} {
		facts := Facts{Session: c.read}
		at := c.before.use(&facts, now.Add(time.Second))
		require.Equal(t, c.kept, facts.Session == &active && c.read != &active, name)
		require.Equal(t, c.before != nil && c.before.id != "", at.Equal(now), name)
	}
}
