package chaos

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/progress"
)

func TestTheTimeThatPassesIsShownUntilItIsStopped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &world{Options: Options{Out: &out, Bar: progress.New(&out, false)}}
	w.during("breaking things", time.Second)()
	w.say("whole again")
	require.Contains(t, out.String(), "- whole again\n")
}
