package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// callTimeout bounds one request to the server; a failed request is retried until the caller's context ends.
const callTimeout = 5 * time.Second

// frontend is a gRPC client of the server's frontend service.
type frontend struct {
	conn     *grpc.ClientConn
	workflow workflowservice.WorkflowServiceClient
	operator operatorservice.OperatorServiceClient
}

func dialFrontend(target string) (*frontend, error) {
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("the Temporal server at %s cannot be dialled: %w", target, err)
	}
	return &frontend{
		conn:     conn,
		workflow: workflowservice.NewWorkflowServiceClient(conn),
		operator: operatorservice.NewOperatorServiceClient(conn),
	}, nil
}

func (f *frontend) close() { _ = f.conn.Close() }

// prepare registers the namespace and its search attributes if they are missing, and returns once every service
// serves it. An existing namespace keeps its retention.
func (f *frontend) prepare(ctx context.Context, name string, o options) error {
	if err := f.register(ctx, name, o.retention); err != nil {
		return fmt.Errorf("namespace %q cannot be registered: %w", name, err)
	}
	if err := f.addSearchAttributes(ctx, name, o.searchAttributes); err != nil {
		return fmt.Errorf("search attributes cannot be registered in namespace %q: %w", name, err)
	}
	if err := f.probe(ctx, name, o.searchAttributes); err != nil {
		return fmt.Errorf("namespace %q does not respond: %w", name, err)
	}
	return nil
}

func (f *frontend) register(ctx context.Context, name string, retention time.Duration) error {
	return retry(ctx, func(ctx context.Context) error {
		_, err := f.workflow.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace:                        name,
			WorkflowExecutionRetentionPeriod: durationpb.New(retention),
		})
		if status.Code(err) == codes.AlreadyExists {
			return nil
		}
		return err
	})
}

// addSearchAttributes registers the attributes of wanted that are missing. An attribute that exists with a different
// type is an error: Temporal cannot change a type in place.
func (f *frontend) addSearchAttributes(ctx context.Context, name string, wanted map[string]enumspb.IndexedValueType) error {
	missing := map[string]enumspb.IndexedValueType{}
	err := retry(ctx, func(ctx context.Context) error {
		clear(missing)
		known, err := f.operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: name})
		if err != nil {
			return err
		}
		for attribute, kind := range wanted {
			switch is, ok := known.GetCustomAttributes()[attribute]; {
			case !ok:
				missing[attribute] = kind
			case is != kind:
				return status.Errorf(codes.InvalidArgument, "%s is registered as %s, not as %s", attribute, is, kind)
			}
		}
		return nil
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	return retry(ctx, func(ctx context.Context) error {
		_, err := f.operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: name, SearchAttributes: missing,
		})
		return err
	})
}

// probe sends each service a request that succeeds only if the service works: a count by every search attribute to
// the frontend and the visibility store, a workflow that does not exist to history, and a task queue to matching.
func (f *frontend) probe(ctx context.Context, name string, attributes map[string]enumspb.IndexedValueType) error {
	queries := []string{""}
	for attribute := range attributes {
		queries = append(queries, fmt.Sprintf("`%s` IS NULL", attribute))
	}
	for _, query := range queries {
		err := retryAlways(ctx, func(ctx context.Context) error {
			_, err := f.workflow.CountWorkflowExecutions(ctx,
				&workflowservice.CountWorkflowExecutionsRequest{Namespace: name, Query: query})
			return err
		})
		if err != nil {
			return err
		}
	}
	err := retryAlways(ctx, func(ctx context.Context) error {
		_, err := f.workflow.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: name, Execution: &commonpb.WorkflowExecution{WorkflowId: "devstack-probe"},
		})
		if status.Code(err) == codes.NotFound {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return retryAlways(ctx, func(ctx context.Context) error {
		_, err := f.workflow.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace:     name,
			TaskQueue:     &taskqueuepb.TaskQueue{Name: "devstack-probe"},
			TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
		})
		return err
	})
}

// retry calls try until it succeeds, ctx ends, or the server rejects the request as invalid.
func retry(ctx context.Context, try func(context.Context) error) error {
	return retryUnless(ctx, try, func(err error) bool {
		switch status.Code(err) {
		case codes.InvalidArgument, codes.PermissionDenied, codes.Unimplemented, codes.FailedPrecondition:
			return true
		default:
			return false
		}
	})
}

// retryAlways is retry for requests that a starting server may reject with any code.
func retryAlways(ctx context.Context, try func(context.Context) error) error {
	return retryUnless(ctx, try, func(error) bool { return false })
}

func retryUnless(ctx context.Context, try func(context.Context) error, final func(error) bool) error {
	for {
		callCtx, cancel := context.WithTimeout(ctx, callTimeout)
		err := try(callCtx)
		cancel()
		if err == nil {
			return nil
		}
		if final(err) {
			return errors.New(status.Convert(err).Message())
		}
		if waitErr := pause(ctx, 20*time.Millisecond); waitErr != nil {
			return fmt.Errorf("%w; the last response was: %s", waitErr, status.Convert(err).Message())
		}
	}
}
