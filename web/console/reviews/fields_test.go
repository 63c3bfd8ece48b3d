package reviews

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/models"
)

// A field that is declared is in the queue, in selections, on the page of the hold and in exports, with its label and in its place.
func TestFieldOfAHoldIsDeclaredOnce(t *testing.T) {
	t.Parallel()
	declared := append(fieldSet{{
		Label: "Key", Class: "ident", In: inWaiting | inSelection | onPage, Cell: func(r heldRow) cell { return cell{Text: r.CredentialID} },
		Column: "credential", Order: 14, Value: func(q hold.Queued) any { return q.CredentialID },
	}}, fields...)
	row := heldRow{Queued: hold.Queued{QueuedHold: hold.QueuedHold{CredentialID: "crd_1", Status: models.HoldPending}}}
	want := cell{Label: "Key", Class: "ident", Text: "crd_1"}
	for p, shown := range map[place]bool{inWaiting: true, inSettled: false, inSelection: true, inResult: false, onPage: true} {
		columns := declared.in(p)
		cells := columns.cells(row)
		require.Len(t, cells, len(columns))
		if shown {
			require.Equal(t, want, cells[0])
		} else {
			require.NotContains(t, cells, want)
		}
	}
	exported := declared.exported()
	require.Equal(t, []string{"id", "status", "due_at", "opened_at", "subject", "action", "action_name", "risk_class", "reason_codes", "approvals", "approvals_required",
		"own_resolution", "assigned_to", "credential"}, exported.columns())
	require.Equal(t, "crd_1", exported.values(row.Queued)[13])
}
