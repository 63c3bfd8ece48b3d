package workflows

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
)

// metadataWorkflow is the name, inside the encryption, of the id of the workflow that a payload belongs to. It decides who may
// have the payload opened: never change it.
const metadataWorkflow = "countersign-workflow"

// WithSerializationContext returns the codec for the payloads of one workflow.
func (c *Codec) WithSerializationContext(ctx converter.SerializationContext) converter.PayloadCodec {
	switch x := ctx.(type) {
	case converter.WorkflowSerializationContext:
		return &Codec{keys: c.keys, workflow: x.WorkflowID}
	case converter.ActivitySerializationContext:
		return &Codec{keys: c.keys, workflow: x.WorkflowID}
	default:
		return c
	}
}

// mark returns a copy of the payload that names its workflow.
func (c *Codec) mark(p *commonpb.Payload) *commonpb.Payload {
	if c.workflow == "" {
		return p
	}
	marked := proto.CloneOf(p)
	if marked.Metadata == nil {
		marked.Metadata = map[string][]byte{}
	}
	marked.Metadata[metadataWorkflow] = []byte(c.workflow)
	return marked
}

// values is the SDK's data converter with the codec.
type values struct{ converter.DataConverter }

// WithSerializationContext returns the converter for the values of one workflow.
func (v values) WithSerializationContext(ctx converter.SerializationContext) converter.DataConverter {
	return values{converter.WithDataConverterSerializationContext(v.DataConverter, ctx)}
}

// WithContext returns the converter for the values of an activity's workflow: the SDK gives the results of local activities no
// serialization context.
func (v values) WithContext(ctx context.Context) converter.DataConverter {
	if !activity.IsActivity(ctx) {
		return v
	}
	info := activity.GetInfo(ctx)
	return v.WithSerializationContext(converter.ActivitySerializationContext{
		Namespace: info.Namespace, WorkflowID: info.WorkflowExecution.ID, ActivityType: info.ActivityType.Name, IsLocal: info.IsLocalActivity,
	})
}

// WithWorkflowContext implements workflow.ContextAware. The SDK has given the converter the workflow's serialization context before.
func (v values) WithWorkflowContext(workflow.Context) converter.DataConverter { return v }

// failures is the SDK's failure converter, whose encrypted texts also name their workflow: the SDK's own ignores the context.
type failures struct {
	converter.FailureConverter
	data converter.DataConverter
}

func newFailures(data converter.DataConverter) failures {
	return failures{data: data, FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: true,
	})}
}

// WithSerializationContext returns the converter for the failures of one workflow.
func (f failures) WithSerializationContext(ctx converter.SerializationContext) converter.FailureConverter {
	return newFailures(converter.WithDataConverterSerializationContext(f.data, ctx))
}
