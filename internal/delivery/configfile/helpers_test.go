package configfile_test

import "encoding/json"

func number(digits string) json.Number { return json.Number(digits) }

func toAny[T any](v T) any { return v }
