package aggregate

import (
	"maps"
	"slices"
)

// Queries are the statements by which decisions read numbers.
var Queries = append(slices.Collect(maps.Values(numberQueries)), seenQuery, firstQuery)
