package workflows

import (
	"context"
	"strings"
	"sync/atomic"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
)

// Polls remembers how the last request of a process for tasks ended. Its zero value is ready for use. It is a gRPC stats.Handler.
type Polls struct{ failed atomic.Pointer[error] }

// pollMethods begins the names of the methods that ask for tasks.
const pollMethods = "/temporal.api.workflowservice.v1.WorkflowService/Poll"

// polling marks the context of a request for tasks.
type polling struct{}

// TagRPC implements stats.Handler.
func (p *Polls) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if strings.HasPrefix(info.FullMethodName, pollMethods) {
		return context.WithValue(ctx, polling{}, true)
	}
	return ctx
}

// HandleRPC implements stats.Handler. A poll that ran out of time or was stopped says nothing.
func (p *Polls) HandleRPC(ctx context.Context, s stats.RPCStats) {
	end, ended := s.(*stats.End)
	switch {
	case !ended || ctx.Value(polling{}) == nil || ctx.Err() != nil:
	case end.Error == nil:
		p.failed.Store(nil)
	default:
		p.failed.Store(&end.Error)
	}
}

// TagConn implements stats.Handler.
func (p *Polls) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (p *Polls) HandleConn(context.Context, stats.ConnStats) {}

// Err returns why the last request for tasks failed, or nil. If Temporal was unavailable then, ping decides whether it still is: a
// worker without work learns of its return only after a whole poll.
func (p *Polls) Err(ctx context.Context, ping func(ctx context.Context) error) error {
	failed := p.failed.Load()
	if failed == nil {
		return nil
	}
	if serviceerror.ToStatus(*failed).Code() == codes.Unavailable {
		return ping(ctx)
	}
	return *failed
}
