package web_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/challenge"
	"github.com/countersign-dev/countersign/web/console"
	"github.com/countersign-dev/countersign/web/hosted"
	"github.com/countersign-dev/countersign/web/reference"
	"github.com/countersign-dev/countersign/web/register"
	"github.com/countersign-dev/countersign/web/standing"
	"github.com/countersign-dev/countersign/web/status"
	"github.com/countersign-dev/countersign/web/try"
)

// A page's template is parsed when the page is first opened: here all of them are.
func TestEveryTemplateParses(t *testing.T) {
	t.Parallel()
	languages, err := hosted.Shipped()
	require.NoError(t, err)
	challenges, err := challenge.Section(challenge.Deps{Languages: languages})
	require.NoError(t, err)
	registrations, err := register.Section(register.Deps{Languages: languages})
	require.NoError(t, err)
	waiting, err := status.Section(status.Deps{Languages: languages})
	require.NoError(t, err)
	approvals, err := standing.Section(standing.Deps{Languages: languages})
	require.NoError(t, err)
	docs, err := reference.Section(reference.Options{})
	require.NoError(t, err)
	tries, err := try.New(try.Deps{}).Section()
	require.NoError(t, err)
	site, err := web.New(web.Config{BaseURL: "http://localhost", Log: slog.New(slog.DiscardHandler)},
		challenges, registrations, waiting, approvals, console.Section(console.Deps{}), docs, tries)
	require.NoError(t, err)
	require.NoError(t, site.Check())
}
