package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubjectLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id := w.subject(t)
	path := "/api/v1/subjects/" + id
	w.Server.post(t, "/api/v1/subjects", object{"id": id}).problem(409, "subject_exists")
	require.Equal(t, true, w.Server.post(t, path+"/adaptation/freeze", nil).is(200).value("adaptation_frozen"))
	require.Equal(t, false, w.Server.post(t, path+"/adaptation/freeze", object{"frozen": false}).is(200).value("adaptation_frozen"))
	w.Server.post(t, path+"/research-consent", object{"consented": true}).is(200)
	require.Equal(t, true, w.Server.get(t, path).is(200).value("research_consent"))
	require.Equal(t, id, w.Server.post(t, path+"/export", nil).is(200).string("subject"))
	require.Len(t, w.Server.get(t, "/api/v1/subjects?status=active").is(200).list(), 1)
	require.Equal(t, "erasing", w.Server.delete(t, path).is(202).string("status"))
	w.Server.get(t, path).problem(404, "not_found")
	w.Server.post(t, "/api/v1/subjects", object{"id": id}).is(201)
}
