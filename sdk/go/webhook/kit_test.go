package webhook

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestKitWebhooks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../kit/webhooks.json")
	require.NoError(t, err)
	var set struct {
		Now   int64
		Event struct{ ID, Type string }
		Cases []struct {
			Name, Guard, Body string
			Accepted          bool
			Secrets           []string
			Headers           map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(text, &set))
	for _, c := range set.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			v, err := New(c.Secrets...)
			require.NoError(t, err)
			v.now = func() time.Time { return time.Unix(set.Now, 0) }
			header := http.Header{}
			for name, value := range c.Headers {
				header.Set(name, value)
			}
			event, err := v.Verify(header, []byte(c.Body))
			require.Equal(t, c.Accepted, err == nil, "guard %s: %v", c.Guard, err)
			if c.Accepted {
				require.Equal(t, set.Event.ID, event.ID)
				require.Equal(t, set.Event.Type, event.Type)
			}
		})
	}
}
