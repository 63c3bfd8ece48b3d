package workflows

import (
	"context"
	"strings"
	"sync/atomic"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// Polls remembers how the last request of a process for tasks ended. Its zero value is ready for use.
type Polls struct{ failed atomic.Pointer[error] }

// pollMethods begins the names of the methods that ask for tasks.
const pollMethods = "/temporal.api.workflowservice.v1.WorkflowService/Poll"

// follow is a gRPC interceptor.
func (p *Polls) follow(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, conn, opts...)
	if !strings.HasPrefix(method, pollMethods) || ctx.Err() != nil { // a poll that ran out of time or was stopped says nothing
		return err
	}
	if err == nil {
		p.failed.Store(nil)
	} else {
		p.failed.Store(&err)
	}
	return err
}

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
