package people_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/people"
)

const schema = `{"type": "object", "properties": {
	"cost_centre": {"type": "object", "properties": {"owner": {"type": "string", "x-countersign-approver": true}}},
	"by": {"type": "string", "x-countersign-requester": true}}}`

func TestNames(t *testing.T) {
	t.Parallel()
	p, err := people.Parse([]byte(schema))
	require.NoError(t, err)
	require.True(t, p.HasApprover("context.cost_centre.owner"))
	require.False(t, p.HasApprover("context.cost_centre"))
	require.False(t, p.HasApprover("context.by"))
	for name, c := range map[string]struct {
		context map[string]any
		want    map[string]string
	}{
		"both":       {map[string]any{"cost_centre": map[string]any{"owner": "olga@example.com"}, "by": "prs_1"}, map[string]string{"requester": "prs_1", "context.cost_centre.owner": "olga@example.com"}},
		"neither":    {map[string]any{}, map[string]string{"requester": "user-1"}},
		"empty":      {map[string]any{"by": ""}, map[string]string{"requester": "user-1"}},
		"other type": {map[string]any{"cost_centre": map[string]any{"owner": 7.0}}, map[string]string{"requester": "user-1"}},
		"too long":   {map[string]any{"by": strings.Repeat("a", 321)}, map[string]string{"requester": "user-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, p.Names(c.context, "user-1"))
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	many := make([]string, people.MaxApprovers+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d": {"type": "string", "x-countersign-approver": true}`, i)
	}
	for name, text := range map[string]string{
		"not true":         `{"properties": {"a": {"type": "string", "x-countersign-approver": "yes"}}}`,
		"a number":         `{"properties": {"a": {"type": "number", "x-countersign-approver": true}}}`,
		"the schema":       `{"type": "string", "x-countersign-requester": true}`,
		"two requesters":   `{"properties": {"a": {"type": "string", "x-countersign-requester": true}, "b": {"type": "string", "x-countersign-requester": true}}}`,
		"in an array":      `{"properties": {"a": {"items": {"type": "string", "x-countersign-approver": true}}}}`,
		"many approvers":   `{"properties": {` + strings.Join(many, ",") + `}}`,
		"null or a string": `{"properties": {"a": {"type": ["string", "null"], "x-countersign-approver": true}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := people.Parse([]byte(text))
			var fault *annotation.Fault
			require.True(t, errors.As(err, &fault), "%v", err)
		})
	}
}
