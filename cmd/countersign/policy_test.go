package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPolicyTestExitCodes(t *testing.T) {
	t.Parallel()
	const reference = "../../docs/policies/payments.yaml"
	raw, err := os.ReadFile(reference)
	require.NoError(t, err)
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		args      []string
		out, says string
		usage     bool
	}{
		"as expected":   {args: []string{reference}, out: "17 cases, 17 as expected, 0 different"},
		"a difference":  {args: []string{write("p.yaml", strings.Replace(string(raw), "decimal(context.amount) > 10000", "decimal(context.amount) > 20000", 1))}, out: "decision: want hold, got allow", says: "2 decisions are not as expected"},
		"a warning":     {args: []string{write("p.yaml", strings.Replace(string(raw), "    hold_on: [automation_typing", "    # hold_on: [automation_typing", 1))}, out: "warning: requirements.deny_on: Detected automation neither denies nor holds: name automation_typing_pattern,"},
		"an evasion":    {args: []string{write("p.yaml", strings.NewReplacer("account, country]", "account]", "!(context.payee.country", "has(context.payee.country) && !(context.payee.country").Replace(string(raw)))}, out: "warning: requirements.rules.2.when: A request without `payee.country` skips this rule"},
		"no file":       {usage: true, says: "needs one file"},
		"missing file":  {args: []string{"missing.yaml"}, usage: true, says: "missing.yaml"},
		"a faulty file": {args: []string{write("p.yaml", strings.Replace(string(raw), "context.amount)", "context.amuont)", 1))}, usage: true, says: "p.yaml: line 21: the condition of the rule \"large_payment\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := cli{t: t}.run(append([]string{"policy", "test"}, c.args...)...)
			require.Contains(t, out, c.out)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.usage, errors.Is(err, errUsage))
		})
	}
}
