package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// A new policy version has hints about what it ignores: in the API, in the console and in the comparison with a file.
func TestPolicyWarnings(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action, key := w.action(t, "enforce", object{"coverage_min": "none"})
	path := "/api/v1/actions/" + action + "/policy-versions"
	made := w.Server.post(t, path, object{"requirements": object{"deny_on": []string{"replay_exact"}}}).is(201)
	var response struct {
		Warnings []struct {
			Code, Message string
			Loc           []string
		}
	}
	made.into(&response)
	require.Len(t, response.Warnings, 1)
	require.Equal(t, "automation_without_effect", response.Warnings[0].Code)
	require.Equal(t, []string{"body", "requirements", "deny_on"}, response.Warnings[0].Loc)
	require.Contains(t, response.Warnings[0].Message, "name automation_typing_pattern, automation_pointer_pattern or automation_range in deny_on or hold_on")
	automation := response.Warnings[0].Message
	require.NotContains(t, string(w.Server.post(t, path, object{"requirements": object{"coverage_min": "none"}}).is(201).body), "warnings")
	require.NotContains(t, string(w.Server.post(t, path, object{"requirements": object{"deny_on": []string{"replay_exact"}, "hold_on": []string{"automation_range"}}}).is(201).body), "warnings")

	large := object{"requirements": object{"coverage_min": "none", "rules": []object{rule("all", "true", holdMatched), rule("large", "has(context.amount) && context.amount > 10000", holdMatched)}},
		"context_schema": object{"type": "object", "properties": object{"amount": object{"type": "number"}}}}
	w.Server.post(t, path, large).is(201).into(&response)
	require.Len(t, response.Warnings, 1)
	require.Equal(t, "missing_skips_rule", response.Warnings[0].Code)
	require.Equal(t, []string{"body", "requirements", "rules", "1", "when"}, response.Warnings[0].Loc)
	require.Contains(t, response.Warnings[0].Message, "A request without `amount` skips this rule")
	skipped := response.Warnings[0].Message
	large["context_schema"].(object)["required"] = []string{"amount"}
	require.NotContains(t, string(w.Server.post(t, path, large).is(201).body), "warnings")

	page := "/console/" + w.ID + "/policies/" + action + "/"
	v := w.signedIn(t, models.RoleOperator)
	require.Contains(t, v.get(page+"2").body, `data-warning="automation_without_effect"`)
	require.NotContains(t, v.get(page+"3").body, "data-warning")
	require.Contains(t, v.get(page+"5").body, `data-warning="missing_skips_rule"`)
	require.NotContains(t, v.get(page+"6").body, "data-warning")

	shown := w.byFile(t).diff(t, "version: 1\nactions: {"+key+": {requirements: {deny_on: [replay_exact]}}, new.one: {name: n, consequence: c, allowed_audiences: [a], requirements: {}}}\n", false)
	require.Contains(t, shown, "    warning: "+automation+"\n")
	require.Contains(t, shown, "    warning: A detected replay neither denies nor holds")
	shown = w.byFile(t).diff(t, `version: 1
actions:
  `+key+`:
    requirements:
      coverage_min: none
      rules:
        - {name: all, when: "true", requirements: {hold_on: [rule_matched]}, reason: All.}
        - {name: large, when: has(context.amount) && context.amount > 10000, requirements: {hold_on: [rule_matched]}, reason: Large.}
    context_schema: {type: object, properties: {amount: {type: number}}}
`, false)
	require.Contains(t, shown, "    warning: "+skipped+"\n")
}
