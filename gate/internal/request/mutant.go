//go:build mutant

package request

import "os"

// A build for tests leaves out the rule that this variable names, to show that the tests miss it.
func init() { removed = os.Getenv("COUNTERSIGN_GATE_WITHOUT") }
