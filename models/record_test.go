package models_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/models"
)

func TestRecordReturnsTheDocumentsByteForByte(t *testing.T) {
	t.Parallel()
	phrases := []string{
		`{"claim":"automation"}`, `"reason_codes":["requirements_met"],`, "é", `"`, `\"`, `"azn_01m8349syqe8yt7q9n0971vx8p"`, `"azn_71m8349syqe8yt7q9n0971vx8z"`,
		`"azn_81m8349syqe8yt7q9n0971vx8p"`, `"azn_01m8349syqe8yt7q9n0971vxil"`, `"AZN_01M8349SYQE8YT7Q9N0971VX8P"`, `"ééx_01m8349syqe8yt7q9n0971vx8"`,
		`"dca59e0554d99fb200bf06155af42efa"`, `"DCA59e0554d99fb200bf06155af42efa"`, `"sha256:f480f2b0701ba40596c81163d4c9d796b4c785cca34ef0d9d727a39ffc0133d9"`,
		`"sha256:F480f2b0701ba40596c81163d4c9d796b4c785cca34ef0d9d727a39ffc0133d9"`, `"sha256:0"`, `"sha512:f480f2b0701ba40596c81163d4c9d796b4c785cca34ef0d9d727a39ffc0133d9"`,
	}
	document := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 5000), rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(phrases), 0, 60).Draw(t, "phrases"), ""))
	}))
	rapid.Check(t, func(t *rapid.T) {
		made := models.Authorization{Assurance: document.Draw(t, "assurance"), Explanation: document.Draw(t, "explanation"), Response: document.Draw(t, "response")}
		for _, short := range []bool{true, false} {
			read := models.Authorization{Record: made.PackFor(short)}
			require.NoError(t, read.UnpackRecord())
			require.True(t, bytes.Equal(made.Assurance, read.Assurance))
			require.True(t, bytes.Equal(made.Explanation, read.Explanation))
			require.True(t, bytes.Equal(made.Response, read.Response))
		}
	})
}

// A decision's documents are made of the dictionary's phrases and of ids, which no dictionary has.
func TestRecordIsSmall(t *testing.T) {
	t.Parallel()
	a := models.Authorization{
		Assurance: models.JSON(`{"id":"prl_01m8349sypfwk95hajtgq1m1vq","subject":"person-8","session":"ses_01m8340xfye3cve5wmm4fgfz1r","assessed_at":"2026-11-23T02:38:28.822Z",` +
			`"claims":[{"claim":"human_presence","status":"confirmed","coverage":"sufficient","evidence_refs":[],"limitations":[],"reason_codes":["human_pattern"],"freshness_ms":290807},` +
			`{"claim":"automation","status":"not_detected","coverage":"sufficient","evidence_refs":[],"limitations":[],"reason_codes":[],"freshness_ms":290807}],"coverage":"sufficient"}`),
		Explanation: models.JSON(`[{"requirement":"coverage","wanted":"at least sufficient","found":"sufficient","passed":true,"effect":"allow"},` +
			`{"requirement":"freshness","wanted":"at most 300000 ms","found":"290807 ms","passed":true,"effect":"allow"}]`),
	}
	a.Response = []byte(`{"id":"azn_01m8349syqe8yt7q9n0971vx8p","decision":"allow","assurance":` + string(a.Assurance) + `,"proof":null}`)
	require.Less(t, 6*len(a.PackRecord()), len(a.Assurance)+len(a.Explanation)+len(a.Response))
	require.Less(t, len(a.PackRecord()), len(a.PackFor(false)))
}

func TestRowsWithoutARecordKeepTheirColumns(t *testing.T) {
	t.Parallel()
	a := models.Authorization{Assurance: models.JSON("{}"), Response: []byte("x")}
	require.NoError(t, a.UnpackRecord())
	require.Equal(t, "{}", string(a.Assurance))
	require.Equal(t, "x", string(a.Response))
}

func TestDamagedRecordsAreErrors(t *testing.T) {
	t.Parallel()
	whole := (&models.Authorization{Assurance: models.JSON(`{"coverage":"sufficient"}`), Response: bytes.Repeat([]byte("0123456789"), 50)}).PackRecord()
	for name, damage := range map[string]func([]byte) []byte{
		"cut short":              func(b []byte) []byte { return b[:len(b)/2] },
		"an unknown dictionary":  func(b []byte) []byte { return append([]byte{9}, b[1:]...) },
		"a size that is missing": func(b []byte) []byte { return []byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f} },
		"a short one of nothing": func([]byte) []byte { return []byte{2, 0} },
		"nothing but a version":  func([]byte) []byte { return []byte{1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := models.Authorization{ID: "azn_1", Record: damage(bytes.Clone(whole))}
			require.ErrorContains(t, a.UnpackRecord(), "record of authorization azn_1")
		})
	}
}

func FuzzUnpackRecord(f *testing.F) {
	f.Add([]byte{1, 0})
	f.Add([]byte{2, 0})
	f.Add((&models.Authorization{Response: []byte("{}")}).PackRecord())
	f.Fuzz(func(t *testing.T, packed []byte) {
		a := models.Authorization{Record: packed}
		if len(packed) == 0 || a.UnpackRecord() != nil {
			return
		}
		again := models.Authorization{Record: a.PackRecord()}
		require.NoError(t, again.UnpackRecord())
		require.True(t, bytes.Equal(a.Response, again.Response))
	})
}
