package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNextAllowsPagesOfTheConsoleOnly(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"":                                  Prefix,
		"/console":                          "/console",
		"/console/env_1/reviews?status=all": "/console/env_1/reviews?status=all",
		"/consolefoo":                       Prefix,
		"//elsewhere/console/":              Prefix,
		"https://elsewhere/console/":        Prefix,
		`/console/\elsewhere`:               Prefix,
		"/console/sign-in?next=x":           Prefix,
		"/console/invitation":               Prefix,
		"/console/../api/v1/meta":           Prefix,
		"/console/%2e%2e/api/v1/meta":       Prefix,
		"javascript:alert(1)":               Prefix,
	} {
		require.Equal(t, want, Next(asked), asked)
	}
	rapid.Check(t, func(t *rapid.T) {
		got := Next(rapid.String().Draw(t, "asked"))
		require.True(t, got == Prefix || len(got) > len(Prefix) && got[:len(Prefix)] == Prefix && (got[len(Prefix)] == '/' || got[len(Prefix)] == '?'), got)
	})
}
