package integration_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A relying party names a subject as security events do. The names are stored as digests, belong to one subject and end with it.
func TestSubjectAliases(t *testing.T) {
	t.Parallel()
	w, other := newSandbox(t), newSandbox(t)
	subject, second := w.subject(t), w.subject(t)
	path := func(subject string) string { return "/api/v1/subjects/" + subject + "/aliases" }
	iss := object{"format": "iss_sub", "iss": "https://login.company.example", "sub": "248289761001"}
	mail := object{"format": "email", "email": "Ann@Company.example"}
	put := func(subject string, names ...object) response {
		return w.Server.do(t, "PUT", path(subject), object{"aliases": append([]object{}, names...)})
	}
	formats := func(subject string) (out []string) {
		for _, a := range w.Server.get(t, path(subject)).is(200).value("aliases").([]any) {
			out = append(out, a.(object)["format"].(string))
		}
		return out
	}
	require.Empty(t, formats(subject))
	put(subject, iss, mail).is(200)
	require.ElementsMatch(t, []string{"iss_sub", "email"}, formats(subject))
	before := w.Server.get(t, path(subject)).is(200).body
	put(subject, mail, iss).is(200)
	require.JSONEq(t, string(before), string(w.Server.get(t, path(subject)).is(200).body), "a repetition changes nothing")
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'subject.aliases_changed'", w.ID))

	for _, written := range []string{"ann@company.example", " ann@company.example ", "ANN@company.example", "\uff41nn@company.example", "a\u200bnn@company.example", "ann@company.e\u00adxample"} {
		put(second, object{"format": "email", "email": written}).problem(409, "conflict")
	}
	put(second, object{"format": "email", "email": " \u200b"}).is(422)
	put(second, object{"format": "email", "iss": "x", "email": "bob@company.example"}).is(422)
	put(second, object{"format": "opaque", "id": "a\u0000b"}).is(422)
	put("person-unknown", mail).problem(404, "not_found")
	other.Server.get(t, path(subject)).problem(404, "not_found")
	other.Server.do(t, "PUT", path(other.subject(t)), object{"aliases": []object{mail}}).is(200)

	var exported struct {
		Data struct {
			Aliases []object `json:"subject_aliases"`
		} `json:"data"`
	}
	body := w.Server.post(t, "/api/v1/subjects/"+subject+"/export", nil).is(200).body
	require.NoError(t, json.Unmarshal(body, &exported))
	require.Len(t, exported.Data.Aliases, 2)
	require.NotContains(t, string(body), "248289761001")
	for _, table := range []string{"subject_aliases", "events"} {
		require.Zero(t, count(t, "select count(*) from "+table+" x where x.environment_id = $1 and x::text ilike '%248289761001%'", w.ID), table)
	}

	w.Server.delete(t, "/api/v1/subjects/"+subject).is(202)
	put(second, mail).is(200)
	require.Equal(t, []string{"email"}, formats(second))
	put(second).is(200)
	require.Empty(t, formats(second))
	w.intact(t)
}
