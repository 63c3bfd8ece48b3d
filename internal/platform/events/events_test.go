package events_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var at = time.Date(2026, 3, 1, 9, 0, 0, 123456789, time.UTC)

func entry(data events.Data) events.Entry {
	return events.Entry{Scope: pg.Scope{Tenant: "tnt_1", Environment: "env_1"}, At: at, Actor: "credential:crd_1", Data: data}
}

// looseData is data that no struct of the package describes.
type looseData struct {
	typ    events.Type
	fields map[string]any
}

func (d looseData) EventType() events.Type       { return d.typ }
func (d looseData) MarshalJSON() ([]byte, error) { return json.Marshal(d.fields) }

// decoded reads fields into the struct of the type; a field that the struct lacks is an error.
func decoded(t *testing.T, d events.Definition, fields map[string]any) events.Data {
	t.Helper()
	raw, err := json.Marshal(fields)
	require.NoError(t, err)
	into := reflect.New(reflect.TypeOf(d.Data()[0]))
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(into.Interface()))
	data, ok := into.Elem().Interface().(events.Data)
	require.True(t, ok)
	return data
}

// exampleEntry turns a type's example back into the entry it would come from.
func exampleEntry(t *testing.T, d events.Definition) events.Entry {
	t.Helper()
	e := entry(nil)
	own := map[string]any{}
	for k, v := range d.Example {
		switch s, _ := v.(string); k {
		case "environment":
			e.Scope.Environment = s
		case "subject":
			e.Subject, e.SubjectUID = s, "sub_1"
		case "action":
			e.Action = s
		case "authorization":
			e.AuthorizationID = s
		case "decision":
			e.Decision = s
		default:
			own[k] = v
		}
	}
	e.Data = decoded(t, d, own)
	return e
}

// The bytes of a struct are those of a map with the same fields: an absent field stays absent, zero and false are written.
func TestDataMarshalsLikeTheFieldsItWasReadFrom(t *testing.T) {
	t.Parallel()
	for _, d := range events.Catalogue() {
		t.Run(string(d.Type), func(t *testing.T) {
			t.Parallel()
			for name, fields := range map[string]map[string]any{"example": ownFields(d), "zeros": zeros(d)} {
				got, err := canonical.JSON(decoded(t, d, fields))
				require.NoError(t, err)
				want, err := canonical.JSON(fields)
				require.NoError(t, err)
				require.Equal(t, string(want), string(got), name)
			}
		})
	}
}

func ownFields(d events.Definition) map[string]any {
	own := maps.Clone(d.Example)
	for _, name := range []string{"environment", "subject", "action", "authorization", "decision"} {
		delete(own, name)
	}
	return own
}

// zeros sets every field of a type that may be 0, false or an empty list to it, and texts to a value.
func zeros(d events.Definition) map[string]any {
	own := map[string]any{}
	properties, _ := d.Schema["properties"].(map[string]any)
	for name, schema := range properties {
		s, _ := schema.(map[string]any)
		switch s["type"] {
		case "integer", "number":
			own[name] = 0
		case "boolean":
			own[name] = false
		case "array":
			own[name] = []any{}
		default:
			own[name] = "x"
		}
	}
	for _, name := range []string{"environment", "subject", "action", "authorization", "decision"} {
		delete(own, name)
	}
	return own
}

func TestExamplesAreValidAndComeOutAsTheyWentIn(t *testing.T) {
	t.Parallel()
	for _, d := range events.Catalogue() {
		t.Run(string(d.Type), func(t *testing.T) {
			t.Parallel()
			e := exampleEntry(t, d)
			row, err := events.Row(e)
			require.NoError(t, err)
			require.NoError(t, events.Check(row))
			shown, err := events.Payload(row)
			require.NoError(t, err)
			got, err := json.Marshal(shown)
			require.NoError(t, err)
			want, err := json.Marshal(d.Example)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
		})
	}
}

func TestEveryTypeHasOneDefinitionWithADescription(t *testing.T) {
	t.Parallel()
	seen := map[events.Type]bool{}
	for _, typ := range events.Types() {
		require.False(t, seen[typ], "%s is defined twice", typ)
		seen[typ] = true
		d, ok := events.Lookup(typ)
		require.True(t, ok)
		require.True(t, strings.HasSuffix(d.Description, "."), "%s: the description is a sentence", typ)
		require.Regexp(t, `^[a-z_]+\.[a-z_]+$`, string(typ))
	}
	for _, typ := range []events.Type{"authorization.decided", "challenge.requested", "challenge.completed", "challenge.cancelled",
		"challenge.expired", "hold.opened", "hold.reminder", "hold.approved", "hold.rejected", "hold.expired",
		"trust.state_changed", "session.anomaly", "enrollment.completed", "enrollment.failed", "proof.revoked",
		"authentication.decided", "evaluation.closed", "webhook.test"} {
		require.True(t, typ.Public(), "%s is promised to webhooks", typ)
	}
	require.False(t, events.ActionCreated.Public())
}

func TestRowRefuses(t *testing.T) {
	t.Parallel()
	good := exampleEntry(t, mustLookup(t, events.SubjectAdaptationChanged))
	for name, spoil := range map[string]func(*events.Entry){
		"no tenant":           func(e *events.Entry) { e.Scope.Tenant = "" },
		"no environment":      func(e *events.Entry) { e.Scope.Environment = "" },
		"no time":             func(e *events.Entry) { e.At = time.Time{} },
		"no data":             func(e *events.Entry) { e.Data = nil },
		"no actor":            func(e *events.Entry) { e.Actor = "" },
		"subject without uid": func(e *events.Entry) { e.SubjectUID = "" },
		"unknown type":        func(e *events.Entry) { e.Data = looseData{typ: "subject.married"} },
		"no exact JSON form": func(e *events.Entry) {
			e.Data = looseData{events.SubjectAdaptationChanged, map[string]any{"frozen": make(chan int)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := good
			spoil(&e)
			_, err := events.Row(e)
			require.Error(t, err)
		})
	}
	_, err := events.Row(good)
	require.NoError(t, err)
}

func TestCheckHoldsRowsAgainstTheirSchema(t *testing.T) {
	t.Parallel()
	good := exampleEntry(t, mustLookup(t, events.SubjectAdaptationChanged))
	row, err := events.Row(good)
	require.NoError(t, err)
	require.NoError(t, events.Check(row))
	for name, data := range map[string]map[string]any{
		"missing field":       {},
		"field of wrong type": {"frozen": "yes"},
		"unknown field":       {"frozen": true, "note": "x"},
		"envelope in data":    {"frozen": true, "subject": "x"},
	} {
		e := good
		e.Data = looseData{e.Type(), data}
		bad, err := events.Row(e)
		require.NoError(t, err, "an entry is never lost: %s", name)
		require.Error(t, events.Check(bad), name)
	}
	altered := row
	altered.Data = models.JSON(`{"frozen":"yes"}`)
	require.ErrorIs(t, events.Check(altered), events.ErrAltered)
	require.ErrorIs(t, events.Check(erased(row)), events.ErrErased)
}

func TestDigestCoversEverythingThatCanBeErased(t *testing.T) {
	t.Parallel()
	e := exampleEntry(t, mustLookup(t, events.SubjectCreated))
	e.SubjectUID, e.RequestID = "sub_1", "req_1"
	row, err := events.Row(e)
	require.NoError(t, err)
	other := "other"
	for name, change := range map[string]func(*models.Event){
		"subject uid": func(r *models.Event) { r.SubjectUID = &other },
		"subject":     func(r *models.Event) { r.Subject = nil },
		"request id":  func(r *models.Event) { r.RequestID = &other },
		"data":        func(r *models.Event) { r.Data = models.JSON(`{"via":"legacy"}`) },
		"salt":        func(r *models.Event) { r.Salt = []byte("0123456789abcdef") },
	} {
		changed := row
		change(&changed)
		got, err := events.Digest(changed)
		require.NoError(t, err)
		require.NotEqual(t, row.Digest, got, name)
	}
	_, err = events.Digest(erased(row))
	require.ErrorIs(t, err, events.ErrErased)
	for name, change := range map[string]func(*models.Event){
		"subject uid": func(r *models.Event) { r.SubjectUID = &other },
		"subject":     func(r *models.Event) { r.Subject = &other },
		"request id":  func(r *models.Event) { r.RequestID = &other },
		"data":        func(r *models.Event) { r.Data = models.JSON(`{"via":"legacy"}`) },
		"salt":        func(r *models.Event) { r.Salt = []byte("0123456789abcdef") },
		"no time":     func(r *models.Event) { r.ErasedAt = nil },
	} {
		partly := erased(row)
		change(&partly)
		_, err := events.Digest(partly)
		require.ErrorIs(t, err, events.ErrAltered, "an erasure leaves no %s", name)
	}
}

// erased returns a row as an erasure leaves it.
func erased(row models.Event) models.Event {
	at := row.At
	row.SubjectUID, row.Subject, row.RequestID, row.Data, row.Salt, row.ErasedAt = nil, nil, nil, nil, nil, &at
	return row
}

func TestDigestIgnoresHowPostgresSpellsTheJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.MapOf(rapid.StringMatching(`[a-z]{1,8}`), rapid.Float64Range(-1e9, 1e9)).Draw(t, "data")
		facts := map[string]any{}
		for k, v := range data {
			facts["f_"+k] = v
		}
		row, err := events.Row(entry(looseData{events.ActionUpdated, facts}))
		require.NoError(t, err)
		var loose map[string]any
		require.NoError(t, json.Unmarshal(row.Data, &loose))
		respelt, err := json.MarshalIndent(loose, "", "  ")
		require.NoError(t, err)
		row.Data = respelt
		got, err := events.Digest(row)
		require.NoError(t, err)
		require.Equal(t, []byte(row.Digest), got)
	})
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns []string
		typ      events.Type
		want     bool
	}{
		{nil, events.HoldOpened, true},
		{[]string{"*"}, events.HoldOpened, true},
		{[]string{"hold.opened"}, events.HoldOpened, true},
		{[]string{"hold.*"}, events.HoldOpened, true},
		{[]string{"challenge.*", "hold.expired"}, events.HoldOpened, false},
		{[]string{"hold"}, events.HoldOpened, false},
		{[]string{"ho*"}, events.HoldOpened, false},
		{[]string{".*"}, events.HoldOpened, false},
	} {
		require.Equal(t, c.want, events.Matches(c.patterns, c.typ), "%v %s", c.patterns, c.typ)
	}
	require.True(t, events.KnownPattern("recovery.*"))
	require.True(t, events.KnownPattern("*"))
	require.False(t, events.KnownPattern("action.created"), "audit-only types are not for webhooks")
	require.False(t, events.KnownPattern("nothing.*"))
}

func mustLookup(t *testing.T, typ events.Type) events.Definition {
	t.Helper()
	d, ok := events.Lookup(typ)
	require.True(t, ok)
	return d
}
