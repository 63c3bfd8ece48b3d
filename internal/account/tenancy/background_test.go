package tenancy_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

func TestCreateChoosesTheBackground(t *testing.T) {
	t.Parallel()
	svc, _ := service(t)
	for given, live := range map[models.BackgroundChoice]models.BackgroundChoice{
		"": models.BackgroundPrior, models.BackgroundOwn: models.BackgroundOwn, models.BackgroundShared: models.BackgroundShared,
	} {
		t.Run(string(given), func(t *testing.T) {
			t.Parallel()
			host := cmp.Or(string(given), "default") + ".example"
			made, err := svc.Create(t.Context(), tenancy.Spec{
				Name: "Bank", RPID: host, Origins: []string{"https://" + host}, Background: given,
			}, "cli:tenant create")
			require.NoError(t, err)
			for want, env := range map[models.BackgroundChoice]models.Environment{models.BackgroundOwn: made.Sandbox, live: made.Live} {
				stored, err := svc.Environment(t.Context(), storetest.Scope(env))
				require.NoError(t, err)
				require.Equal(t, want, stored.Background)
			}
		})
	}
}

// An environment that learns no more keeps nothing of anyone, and uses the deployment's background at once.
func TestUpdateSettingsDeletesWhatWasLearned(t *testing.T) {
	t.Parallel()
	svc, st := service(t)
	made, err := svc.Create(t.Context(), tenancy.Spec{Name: "Bank", RPID: "bank.example", Origins: []string{"https://bank.example"}}, "cli:tenant create")
	require.NoError(t, err)
	scope := storetest.Scope(made.Sandbox)
	_, err = st.Pool().Exec(t.Context(), `insert into background_sums (environment_id, tenant_id, modality, people, changes, sums, updated_at)
		values ($1, $2, 'keystroke', 30, 30, '\x01', now())`, scope.Environment, scope.Tenant)
	require.NoError(t, err)
	_, err = st.Pool().Exec(t.Context(), `insert into environment_backgrounds (version, environment_id, tenant_id, modality, number, status, source, people, changes,
		body, comparison, made_at) values ('own-1', $1, $2, 'keystroke', 1, 'active', 'own', 30, 30, '{}', '{}', now())`, scope.Environment, scope.Tenant)
	require.NoError(t, err)

	shared, prior, unknown := models.BackgroundShared, models.BackgroundPrior, models.BackgroundChoice("mine")
	_, err = svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"background": unknown}, "cli:test", "")
	require.Contains(t, problem.As(err).Fields[0].Msg, "choose prior, own or shared")
	_, err = svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"background": shared}, "cli:test", "")
	require.NoError(t, err)
	count := func(query string) (n int) {
		require.NoError(t, st.Pool().QueryRow(t.Context(), query, scope.Environment).Scan(&n))
		return n
	}
	require.Equal(t, 1, count("select count(*) from background_sums where environment_id = $1"))

	for range 2 {
		env, err := svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"background": prior}, "cli:test", "")
		require.NoError(t, err)
		require.Equal(t, prior, env.Background)
	}
	require.Zero(t, count("select count(*) from background_sums where environment_id = $1"))
	require.Equal(t, 1, count("select count(*) from environment_backgrounds where environment_id = $1 and status = 'retired'"))
	require.Equal(t, 1, count("select count(*) from events where environment_id = $1 and type = 'background.own_retired' and data->>'reason' = 'switched_off'"))
}
