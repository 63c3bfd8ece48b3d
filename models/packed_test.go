package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

func TestDataOfDecisionsReturnByteForByte(t *testing.T) {
	t.Parallel()
	const data = `{"action_hash":"` + digestA + `","coverage":"sufficient","insufficient_evidence":false,"latency_ms":4,"mode":"enforce","policy_version":1,` +
		`"proof_id":"prf_01m84w85tqescssmt55r4s8x7m","reason_codes":["requirements_met"],"record_digest":"` + digestB + `","trace_id":"f6007ef94d02e98c329e340cbe215d31"}`
	for name, c := range map[string]struct {
		made   models.Event
		packed bool
	}{
		"a decision":          {models.Event{Type: "authorization.decided", Data: models.JSON(data)}, true},
		"other text":          {models.Event{Type: "authorization.decided", Data: models.JSON(`{"reason_codes":["ünknown"]}`)}, true},
		"no text":             {models.Event{Type: "authorization.decided", Data: models.JSON("\"\xff\"")}, false},
		"an erased one":       {models.Event{Type: "authorization.decided"}, false},
		"another type":        {models.Event{Type: "hold.opened", Data: models.JSON(data)}, false},
		"a type of retention": {models.Event{Type: "retention.executed", Data: models.JSON(`{"class":"events"}`)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed := c.made.Pack()
			require.Equal(t, c.packed, packed != nil)
			read := models.Event{Type: c.made.Type, Data: c.made.Data}
			if packed != nil {
				read.Data, read.Packed = nil, packed
			}
			require.NoError(t, read.Unpack())
			require.Equal(t, string(c.made.Data), string(read.Data))
		})
	}
	require.Less(t, 3*len((&models.Event{Type: "authorization.decided", Data: models.JSON(data)}).Pack()), len(data)+50)
}

func TestDamagedDataAreErrors(t *testing.T) {
	t.Parallel()
	for name, packed := range map[string][]byte{"nothing but a version": {1}, "an unknown version": {9, 1, 2}, "no end": {1, 1, 0, 'a'}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, (&models.Event{ID: "evt_1", Packed: packed}).Unpack(), "data of event evt_1")
		})
	}
}
