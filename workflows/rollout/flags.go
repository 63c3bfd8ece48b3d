package rollout

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// flagsKey is the key of a build's flags in its metadata.
const flagsKey = "countersign-flags"

// announceEvery is the pause between two attempts to announce flags: Temporal creates a build when its first worker polls.
const announceEvery = time.Second

// Announce returns a background loop that stores the flags of a build's workflow code with the build, for Rollback. They are in the clear:
// names from the source code.
func (r *Rollout) Announce(build string, flags []string, log *slog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		for {
			err := r.announce(ctx, build, flags)
			if err == nil {
				return
			}
			log.DebugContext(ctx, "cannot announce the flags of the build; retrying", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(announceEvery):
			}
		}
	}
}

func (r *Rollout) announce(ctx context.Context, build string, flags []string) error {
	value, err := converter.NewJSONPayloadConverter().ToPayload(strings.Join(flags, ","))
	if err != nil {
		return err
	}
	_, err = r.handle().UpdateVersionMetadata(ctx, client.WorkerDeploymentUpdateVersionMetadataOptions{
		Version:        r.version(build),
		MetadataUpdate: client.WorkerDeploymentMetadataUpdate{UpsertEntries: map[string]any{flagsKey: value}},
	})
	return err
}

// flags returns the flags of a build. One that announced none, or that Temporal forgot, knows none: then more workflow runs are
// held than necessary.
func (r *Rollout) flags(ctx context.Context, build string) ([]string, error) {
	if build == "" {
		return nil, nil
	}
	d, err := r.handle().DescribeVersion(ctx, client.WorkerDeploymentDescribeVersionOptions{BuildID: build})
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseFlags(d.Info.Metadata[flagsKey])
}

func parseFlags(p *commonpb.Payload) ([]string, error) {
	if p == nil {
		return nil, nil
	}
	var text string
	if err := converter.NewJSONPayloadConverter().FromPayload(p, &text); err != nil {
		return nil, err
	}
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' }), nil
}
