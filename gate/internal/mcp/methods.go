package mcp

// way is how the gateway treats a method.
type way int

// The ways. A method that the table does not know is refused.
const (
	relay    way = iota + 1
	decideOn     // a call, which needs a decision unless its tool passes
	filter       // the list of tools: only accepted definitions
	amend        // the server introduces itself: without tasks, with the versions that the gateway knows
	own          // tasks: the gateway's own
	cancel       // ends a request of the gateway, which ends its own
)

// method is an entry of the table. The two sides name who may send it.
type method struct {
	fromClient, fromServer way
}

// methods are all methods of the revisions 2025-11-25 and 2026-07-28 and of the extension of tasks.
var methods = map[string]method{
	"completion/complete":                      {fromClient: relay},
	"elicitation/create":                       {fromServer: relay},
	"initialize":                               {fromClient: amend},
	"logging/setLevel":                         {fromClient: relay},
	"notifications/cancelled":                  {fromClient: cancel, fromServer: relay},
	"notifications/elicitation/complete":       {fromServer: relay},
	"notifications/initialized":                {fromClient: relay},
	"notifications/message":                    {fromServer: relay},
	"notifications/progress":                   {fromClient: relay, fromServer: relay},
	"notifications/prompts/list_changed":       {fromServer: relay},
	"notifications/resources/list_changed":     {fromServer: relay},
	"notifications/resources/updated":          {fromServer: relay},
	"notifications/roots/list_changed":         {fromClient: relay},
	"notifications/subscriptions/acknowledged": {fromServer: relay},
	"notifications/tasks":                      {},
	"notifications/tasks/status":               {},
	"notifications/tools/list_changed":         {fromServer: relay},
	"ping":                                     {fromClient: relay, fromServer: relay},
	"prompts/get":                              {fromClient: relay},
	"prompts/list":                             {fromClient: relay},
	"resources/list":                           {fromClient: relay},
	"resources/read":                           {fromClient: relay},
	"resources/subscribe":                      {fromClient: relay},
	"resources/templates/list":                 {fromClient: relay},
	"resources/unsubscribe":                    {fromClient: relay},
	"roots/list":                               {fromServer: relay},
	"sampling/createMessage":                   {fromServer: relay},
	"server/discover":                          {fromClient: amend},
	"subscriptions/listen":                     {fromClient: relay},
	"tasks/cancel":                             {fromClient: own},
	"tasks/get":                                {fromClient: own},
	"tasks/list":                               {},
	"tasks/result":                             {},
	"tasks/update":                             {fromClient: own},
	"tools/call":                               {fromClient: decideOn},
	"tools/list":                               {fromClient: filter},
}
