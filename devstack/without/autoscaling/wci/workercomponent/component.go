// Package workercomponent replaces the workflows of worker controllers with none.
package workercomponent

import "go.uber.org/fx"

// Module provides nothing.
var Module = fx.Options()
