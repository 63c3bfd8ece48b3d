package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
	"github.com/countersign-dev/countersign/gate/internal/state"
)

// A task is a call that waits for reviewers. Its id is the call itself, sealed for its principal, so that any replica can carry it out once the
// hold is approved: the hold is durable, and the gateway has nothing to lose but the result of a call that was carried out.

const (
	longestTask = 16 << 10 // bytes of an id: a call with longer arguments waits instead
	keptTasks   = 1000     // results
	taskPoll    = 5 * time.Second
	taskAnswer  = 30 * time.Second // how long tasks/get waits for the server
	longestCall = time.Hour        // of a task at the server
)

// sealedTask is the content of a task's id.
type sealedTask struct {
	Tool          string         `json:"t"`
	Arguments     map[string]any `json:"p"`
	Input         input          `json:"u"`
	Authorization string         `json:"a"`
	Created       int64          `json:"c"` // Unix time in seconds
}

// running is a task whose call was sent to its server.
type running struct {
	done   chan struct{}
	result map[string]any // status and its members; set before done is closed
}

// takesTasks reports whether the client declared the extension on this request.
func (c *call) takesTasks() bool {
	extensions := rpc.Members(rpc.Members(c.meta[metaCapabilities])["extensions"])
	return c.modern() && extensions[extensionTasks] != nil && len(c.taskID(sealedTask{})) <= longestTask
}

func (c *call) taskID(t sealedTask) string {
	t.Tool, t.Arguments, t.Input = c.tool.Name, c.arguments, c.input
	text, _ := json.Marshal(t) // JSON
	return c.config.State.Sign(c.taskPurpose(), string(text))
}

func (r *incoming) taskPurpose() string {
	return "mcp task\n" + r.conf.Name + "\n" + r.client.Who.Key()
}

// begin responds with a task.
func (c *call) begin(v decide.Verdict) {
	now := time.Now().Unix()
	id := c.taskID(sealedTask{Authorization: v.Authorization, Created: now})
	c.reply(c.described(map[string]any{"resultType": "task", "status": "working", "statusMessage": "The call waits for a reviewer."}, id, now))
}

// described adds what all descriptions of a task have.
func (r *incoming) described(members map[string]any, id string, created int64) map[string]any {
	members["taskId"], members["createdAt"], members["lastUpdatedAt"] = id, time.Unix(created, 0).UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339)
	members["ttlMs"], members["pollIntervalMs"] = r.config.StateTTL.Milliseconds(), taskPoll.Milliseconds()
	return members
}

var errTask = &rpc.Error{Code: rpc.CodeParams, Message: "The task is unknown, or of a different client."}

// task serves the methods of tasks.
func (r *incoming) task(ctx context.Context) error {
	id := rpc.String(r.params["taskId"])
	c, t, err := r.taskCall(ctx, id)
	var refusal *rpc.Error
	switch {
	case errors.As(err, &refusal):
		r.fail(refusal)
		return nil
	case err != nil:
		return r.unavailable(ctx, err)
	case r.m.Method == "tasks/get":
		r.reply(c.described(c.advance(ctx, id, t), id, t.Created))
		return nil
	case r.m.Method == "tasks/update":
		if v := c.ask(ctx, t.Authorization); v.Outcome == decide.Challenge {
			if action := rpc.String(rpc.Members(rpc.Members(r.params["inputResponses"])[taskInput(v)])["action"]); action == "decline" || action == "cancel" {
				r.core.Decline(ctx, v.Challenge)
			}
		}
	}
	r.reply(map[string]any{"resultType": "complete"}) // a cancelled task is one that is not asked for again: holds end by themselves
	return nil
}

func taskInput(v decide.Verdict) string { return elicited + "-" + v.Challenge }

// taskCall returns the call of a task, described as it was when the task began.
func (r *incoming) taskCall(ctx context.Context, id string) (*call, *sealedTask, error) {
	text, err := r.config.State.Verify(r.taskPurpose(), id)
	var t sealedTask
	if err == nil {
		err = json.Unmarshal([]byte(text), &t)
	}
	if err == nil && time.Since(time.Unix(t.Created, 0)) > r.config.StateTTL {
		err = state.ErrInvalid
	}
	if err != nil {
		return nil, nil, errTask
	}
	tool, known := r.rule(t.Tool)
	d, err := r.definition(ctx, t.Tool)
	if errors.Is(err, errUnaccepted) || !known || tool.Pass {
		return nil, nil, errTask
	}
	if err != nil {
		return nil, nil, err
	}
	original := &incoming{Server: r.Server, client: r.client, out: &collector{}, version: r.version, meta: r.meta,
		m: &rpc.Message{ID: json.RawMessage(`"task"`), Method: "tools/call"}}
	name, _ := json.Marshal(t.Tool) // a text
	original.params = map[string]json.RawMessage{"name": name, "_meta": rpc.Object(r.meta)}
	c := &call{incoming: original, tool: tool, definition: d, arguments: t.Arguments, input: t.Input}
	if c.arguments == nil {
		c.arguments = map[string]any{}
	}
	return c, &t, c.describe(ctx)
}

// advance returns the status of a task. Once its hold is approved, it consumes the proof and sends the call, and keeps the result for a while.
func (c *call) advance(ctx context.Context, id string, t *sealedTask) map[string]any {
	key := string(digest(id))
	c.Gateway.mu.Lock()
	run, has := c.tasks[key]
	if !has {
		if len(c.tasks) >= keptTasks {
			clear(c.tasks)
		}
		run = &running{done: make(chan struct{})}
		c.tasks[key] = run
		go c.carryOut(context.WithoutCancel(ctx), key, run, t.Authorization)
	}
	c.Gateway.mu.Unlock()
	select {
	case <-run.done:
		members := map[string]any{}
		for name, value := range run.result {
			members[name] = value
		}
		return members
	case <-ctx.Done():
	case <-time.After(taskAnswer):
	}
	return map[string]any{"resultType": "complete", "status": "working"}
}

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// carryOut takes a task as far as it goes now. A task that still waits is forgotten, and taken up by the next tasks/get.
func (c *call) carryOut(ctx context.Context, key string, run *running, authorization string) {
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	defer close(run.done)
	v := c.ask(ctx, authorization)
	if v.Waits() || v.Outcome == decide.Unavailable {
		c.Gateway.mu.Lock()
		delete(c.tasks, key)
		c.Gateway.mu.Unlock()
		run.result = c.waitingTask(ctx, v)
		return
	}
	c.report(c.conf.Name, c.tool.Name, v)
	run.result = map[string]any{"resultType": "complete", "status": "completed"}
	got := &collector{}
	c.out = got
	switch {
	case v.Passes():
		_ = c.send(ctx) // the response says what failed
	case v.Used():
		c.reply(c.text("The call was carried out or its approval has expired, and its result is no longer available.", ""))
	default:
		c.refused(v)
	}
	switch {
	case got.response == nil:
		run.result["status"], run.result["error"] = "failed", &rpc.Error{Code: rpc.CodeInternal, Message: "The server did not respond."}
	case got.response.Error != nil:
		run.result["status"], run.result["error"] = "failed", got.response.Error
	case rpc.String(rpc.Members(got.response.Result)["resultType"]) == "input_required":
		run.result["result"] = c.text("The server asked for input, which a task cannot pass on. Call the tool again without tasks.", "")
	default:
		run.result["result"] = got.response.Result
	}
}

// waitingTask is the status of a task that waits for a person.
func (c *call) waitingTask(ctx context.Context, v decide.Verdict) map[string]any {
	working := map[string]any{"resultType": "complete", "status": "working", "statusMessage": "The call waits for a person."}
	if v.Outcome != decide.Challenge || !c.opensPages() {
		return working
	}
	link, err := c.core.Link(ctx, c.inquiry, v.Challenge, "")
	if err != nil {
		return working
	}
	working["status"] = "input_required"
	working["inputRequests"] = map[string]any{taskInput(v): map[string]any{"method": "elicitation/create",
		"params": map[string]any{"mode": "url", "url": link, "message": "Confirm this call on the page of " + host(link) + "."}}}
	return working
}

// statusOf is the HTTP status of an error that a transport reports.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errNoSession):
		return http.StatusNotFound
	case errors.Is(err, errNoListener):
		return http.StatusMethodNotAllowed
	}
	var refusal *rpc.Error
	if errors.As(err, &refusal) {
		return http.StatusBadRequest
	}
	return http.StatusBadGateway
}
