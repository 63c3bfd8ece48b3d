package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/api/openapi"
)

// schemes maps each access to the security schemes of the contract.
var schemes = map[middleware.Access][]string{
	middleware.AccessOpen:        {},
	middleware.AccessPublishable: {"publishableKey", "serverKey", "adminKey"},
	middleware.AccessEvidence:    {"clientToken", "serverKey", "adminKey"},
	middleware.AccessServer:      {"serverKey", "adminKey"},
	middleware.AccessAdmin:       {"adminKey"},
}

func TestRoutesMatchTheContract(t *testing.T) {
	t.Parallel()
	table, documented := routeTable(t)
	type line struct{ method, path string }
	served, promised := map[string]line{}, map[string]line{}
	for _, op := range documented {
		promised[op.ID] = line{op.Method, op.Path}
	}
	for _, r := range table {
		require.NotContains(t, served, r.Operation, "an operation must have one route")
		require.NotNil(t, r.Handler, r.Operation)
		served[r.Operation] = line{r.Method, r.Path}
	}
	require.Equal(t, promised, served)
	for _, r := range table {
		want, known := schemes[r.Access]
		require.True(t, known, "%s has no access that is known: %q", r.Operation, r.Access)
		require.ElementsMatch(t, want, documented[r.Operation].Security, r.Operation)
	}
}

// A list of records about people says so: its items name a subject or a target, or it is a subject's.
func TestListsOfRecordsAboutPeopleAreCounted(t *testing.T) {
	t.Parallel()
	table, _ := routeTable(t)
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct {
						Items struct {
							Ref string `json:"$ref"`
						}
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(openapi.Document(), &document))
	for _, r := range table {
		ref := document.Paths[r.Path][strings.ToLower(r.Method)].Responses["200"].Content["application/json"].Schema.Items.Ref
		item := document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")].Properties
		require.Equal(t, ref != "" && (item["subject"] != nil || item["target"] != nil || strings.HasPrefix(r.Path, "/api/v1/subjects")), r.Personal, r.Operation)
	}
}

// A response that may be old must be able to say so.
func TestRoutesThatMayBeOldDocumentTheirAge(t *testing.T) {
	t.Parallel()
	table, _ := routeTable(t)
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Headers map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(openapi.Document(), &document))
	for _, r := range table {
		_, documented := document.Paths[r.Path][strings.ToLower(r.Method)].Responses["200"].Headers[middleware.HeaderAge]
		require.Equal(t, documented, r.Old, r.Operation)
	}
}

// Two routes that can match the same path must differ in their number of parameters, which decides their order.
func TestRoutesAreNotAmbiguous(t *testing.T) {
	t.Parallel()
	table, _ := routeTable(t)
	for i, a := range table {
		for _, b := range table[i+1:] {
			if a.Method == b.Method && a.Matches(b.Path) && b.Matches(a.Path) {
				require.NotEqual(t, strings.Count(a.Path, "{"), strings.Count(b.Path, "{"), "%s and %s", a.Path, b.Path)
			}
		}
	}
}
