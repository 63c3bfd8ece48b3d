package tenancy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

func TestUpdateSettingsOfPagesChangesGivenFieldsOnly(t *testing.T) {
	t.Parallel()
	svc, st := service(t)
	made, err := svc.Create(t.Context(), tenancy.Spec{
		Name: "Example Bank", RPID: "bank.example", Origins: []string{"https://bank.example", "https://approve.bank.example"},
	}, "cli:tenant create")
	require.NoError(t, err)
	scope := storetest.Scope(made.Live)
	origin, none := "https://approve.bank.example", ""
	env, err := svc.UpdateSettings(t.Context(), scope, tenancy.Settings{
		"page_origin": origin, "return_origins": []string{"https://shop.example"}, "frame_ancestors": []string{"https://intranet.example:8443"},
	}, "cli:tenant pages", "")
	require.NoError(t, err)
	require.Equal(t, origin, *env.PageOrigin)

	env, err = svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"return_origins": []string{}}, "cli:tenant pages", "")
	require.NoError(t, err)
	stored, err := tenancy.GetEnvironment(t.Context(), st.Q, scope)
	require.NoError(t, err)
	require.Equal(t, env.FrameAncestors, stored.FrameAncestors)
	require.Equal(t, models.Strings{"https://intranet.example:8443"}, stored.FrameAncestors, "what is not named is kept")
	require.Empty(t, stored.ReturnOrigins)
	require.Equal(t, origin, *stored.PageOrigin)
	env, err = svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"page_origin": none}, "cli:tenant pages", "")
	require.NoError(t, err)
	require.Nil(t, env.PageOrigin)

	for _, bad := range []string{
		"https://elsewhere.example", // fine as an origin, but passkeys are not used there
	} {
		_, err = svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"page_origin": bad}, "cli:tenant pages", "")
		require.NotNil(t, problem.As(err))
		require.Contains(t, problem.As(err).Fields[0].Msg, "passkeys could not be used there")
	}
	for _, bad := range []string{
		"", "*", "https://*.example", "https://a.example/", "https://a.example; script-src *", "http://a.example", "a.example",
		"https://a.example https://b.example", "https://u@a.example", "javascript:alert(1)",
	} {
		_, err = svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"frame_ancestors": []string{bad}}, "cli:tenant pages", "")
		require.Error(t, err, bad)
		_, err = svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"return_origins": []string{bad}}, "cli:tenant pages", "")
		require.Error(t, err, bad)
	}
	env, err = svc.UpdateSettings(t.Context(), scope, tenancy.Settings{
		"return_origins": []string{"HTTPS://Shop.example:443"}, "frame_ancestors": []string{"https://bücher.example"},
	}, "cli:tenant pages", "")
	require.NoError(t, err)
	require.Equal(t, []string{"https://shop.example"}, []string(env.ReturnOrigins))
	require.Equal(t, []string{"https://xn--bcher-kva.example"}, []string(env.FrameAncestors))
}
