package workflows_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/workflows"
)

const canary = "canary-4711-must-not-be-readable"

func keys(t testing.TB, more ...string) *keyring.Keyring {
	t.Helper()
	k, err := keyring.Parse(strings.Join(append(more, keyring.Generate()), ","))
	require.NoError(t, err)
	return k
}

func TestCodecRoundTripsPayloads(t *testing.T) {
	t.Parallel()
	k := keys(t)
	rapid.Check(t, func(rt *rapid.T) {
		in := workflows.MoveRequest{Request: canary + rapid.String().Draw(rt, "request")}
		data, _ := workflows.Converters(k)
		p, err := data.ToPayload(in)
		require.NoError(rt, err)
		wire, err := proto.Marshal(p)
		require.NoError(rt, err)
		require.NotContains(rt, string(wire), canary)
		require.NotContains(rt, string(wire), "Request", "the shape is sealed too")
		var out workflows.MoveRequest
		require.NoError(rt, data.FromPayload(p, &out))
		require.Equal(rt, in, out)
	})
}

func TestCodecEncryptsSamePayloadDifferently(t *testing.T) {
	t.Parallel()
	data, _ := workflows.Converters(keys(t))
	one, err := data.ToPayload(canary)
	require.NoError(t, err)
	two, err := data.ToPayload(canary)
	require.NoError(t, err)
	require.False(t, bytes.Equal(one.GetData(), two.GetData()))
}

func TestFailureConverterEncryptsTexts(t *testing.T) {
	t.Parallel()
	_, failures := workflows.Converters(keys(t))
	failure := failures.ErrorToFailure(temporal.NewApplicationError(canary, "challenge_closed", errors.New(canary)))
	wire, err := proto.Marshal(failure)
	require.NoError(t, err)
	require.NotContains(t, string(wire), canary)
	var app *temporal.ApplicationError
	require.ErrorAs(t, failures.FailureToError(failure), &app)
	require.Equal(t, "challenge_closed", app.Type())
	require.Equal(t, canary, app.Message())
}

func TestCodecDecodesWithInactiveKey(t *testing.T) {
	t.Parallel()
	old, fresh := keyring.Generate(), keyring.Generate()
	before, err := keyring.Parse(old)
	require.NoError(t, err)
	after, err := keyring.Parse(fresh + "," + old)
	require.NoError(t, err)
	sealing, _ := workflows.Converters(before)
	opening, _ := workflows.Converters(after)
	p, err := sealing.ToPayload(canary)
	require.NoError(t, err)
	var out string
	require.NoError(t, opening.FromPayload(p, &out))
	require.Equal(t, canary, out)
}

func TestCodecRefusesForeignOrChangedPayloads(t *testing.T) {
	t.Parallel()
	k := keys(t)
	sealed, err := workflows.NewCodec(k).Encode([]*commonpb.Payload{{Data: []byte(canary)}})
	require.NoError(t, err)
	_, err = workflows.NewCodec(keys(t)).Decode(sealed)
	require.Error(t, err, "another keyring")
	for i := range sealed[0].GetData() {
		changed := proto.CloneOf(sealed[0])
		changed.Data[i] ^= 1
		_, err = workflows.NewCodec(k).Decode([]*commonpb.Payload{changed})
		require.Error(t, err, "byte %d", i)
	}
}

func TestCodecPassesThroughUnencryptedPayloads(t *testing.T) {
	t.Parallel()
	plain, err := converter.GetDefaultDataConverter().ToPayload("plain")
	require.NoError(t, err)
	out, err := workflows.NewCodec(keys(t)).Decode([]*commonpb.Payload{plain})
	require.NoError(t, err)
	require.True(t, proto.Equal(plain, out[0]))
}
