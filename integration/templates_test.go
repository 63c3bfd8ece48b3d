package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The workflow of a confirmed session adapts the template. A rollback reactivates the previous version.
func TestTemplateAdaptationAndRollback(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada := typist("ada")
	subject := w.enrolled(t, ada)
	path := "/api/v1/subjects/" + subject + "/templates"
	first := w.Server.get(t, path).is(200).list()
	require.Len(t, first, 1)
	require.Equal(t, "enrollment", first[0]["origin"])
	rollback := object{"modality": "keystroke", "device_class": "desktop"}
	w.Server.post(t, path+"/rollback", rollback).problem(409, "no_earlier_template")

	session, status := "", ""
	for day := 0; day < 6 && status != "confirmed"; day++ { // a typist is not confirmed every day
		session = w.session(t, subject, "score", ada, 7)
		status = claim(w.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200).value("claims"), "operator_continuity")
		ada.NewDay()
	}
	require.Equal(t, "confirmed", status)
	w.Server.post(t, "/api/v1/sessions/"+session+"/end", nil).is(200)
	eventually(t, func() bool { return len(w.Server.get(t, path).is(200).list()) == 2 }, "the workflow adapts the template")
	newest := w.Server.get(t, path).is(200).list()[0]
	require.Equal(t, "adaptation", newest["origin"])
	require.Equal(t, "active", newest["status"])

	back := w.Server.post(t, path+"/rollback", rollback).is(200)
	require.EqualValues(t, 1, back.value("version"))
	require.Equal(t, "active", back.string("status"))
	require.Equal(t, "retired", w.Server.get(t, path).is(200).list()[0]["status"])
	w.Server.post(t, path+"/rollback", object{"modality": "keystroke", "device_class": "desktop", "version": 2}).problem(409, "no_earlier_template")
	w.Server.get(t, "/api/v1/subjects/unknown-subject/templates").problem(404, "not_found")
}
