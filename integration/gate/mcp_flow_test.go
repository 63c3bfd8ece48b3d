package gate_test

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// revisions are those of a client, and of a server.
var revisions = []struct{ client, server string }{{legacy, all}, {modern, all}, {legacy, modern}, {modern, legacy}}

// TestMCPDecisions calls tools of an unmodified server by each way and revision of either side, with each decision.
func TestMCPDecisions(t *testing.T) {
	t.Parallel()
	for _, way := range tillWays {
		for _, version := range revisions {
			t.Run(way+" "+version.client+" "+version.server, func(t *testing.T) {
				t.Parallel()
				l := openTillSpeaking(t, way, version.client, version.server)
				s := l.connect(t, l.confirm(t))
				listed, err := s.ListTools(t.Context(), nil)
				require.NoError(t, err)
				var names []string
				for _, tool := range listed.Tools {
					names = append(names, tool.Name)
				}
				require.ElementsMatch(t, []string{"allow", "challenge", "hold", "later", "deny", "pass"}, names, "a tool that the file does not name is not listed")
				for tool, passes := range map[string]bool{"allow": true, "pass": true, "challenge": true, "deny": false} {
					r, err := callTool(t, s, tool, 10)
					require.NoError(t, err, tool)
					require.Equal(t, !passes, r.IsError, "%s: %s", tool, textOf(r))
					runs := l.bank.take(t)
					if passes {
						require.Equal(t, "sent 10 to Eve", textOf(r))
						require.Equal(t, []string{tool + ` {"payee":"Eve","amount":10}`}, runs)
					} else {
						require.Empty(t, runs)
					}
				}
				_, err = callTool(t, s, "unnamed", 10)
				require.Error(t, err)
				require.Empty(t, l.bank.take(t))
				read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///rates"})
				require.NoError(t, err)
				require.Equal(t, "3 %", read.Contents[0].Text)
			})
		}
	}
}

// TestMCPHold approves a hold while the call waits.
func TestMCPHold(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"http-http", "stdio-program"} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(way+" "+version, func(t *testing.T) {
				t.Parallel()
				l := openTill(t, way, version)
				s := l.connect(t, nil)
				go func() {
					id := l.waits(t)
					_, err := l.ReviewAuthorization(t.Context(), id, countersign.ManualReviewRequest{Resolution: "approve"})
					if err != nil {
						t.Error(err)
					}
				}()
				r, err := callTool(t, s, "hold", 10)
				require.NoError(t, err)
				require.Equal(t, "sent 10 to Eve", textOf(r))
				require.Len(t, l.bank.take(t), 1)
			})
		}
	}
}

// waits returns the id of the one authorization that waits for a review.
func (l *till) waits(t testing.TB) string {
	var id string
	require.Eventually(t, func() bool {
		page, err := l.ListAuthorizations(t.Context(), countersign.ListAuthorizationsParams{Subject: l.subject})
		if err != nil {
			return false
		}
		for _, a := range page.Items {
			if a.ReviewStatus == "pending" {
				id = a.ID
			}
		}
		return id != ""
	}, time.Minute, 50*time.Millisecond)
	return id
}
