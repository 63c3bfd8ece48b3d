package worker_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/worker"
)

// payloads collects the types of the arguments and results of everything that is registered.
type payloads map[reflect.Type]bool

func (p payloads) RegisterWorkflowWithOptions(w any, _ workflow.RegisterOptions) { p.add(w) }
func (p payloads) RegisterActivityWithOptions(a any, _ activity.RegisterOptions) { p.add(a) }

func (p payloads) add(function any) {
	of := reflect.TypeOf(function)
	for i := range of.NumIn() {
		p.collect(of.In(i))
	}
	for i := range of.NumOut() {
		p.collect(of.Out(i))
	}
}

// collect adds a type of the service with the types of its fields.
func (p payloads) collect(of reflect.Type) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		p.collect(of.Elem())
	case reflect.Struct:
		if p[of] || of == reflect.TypeFor[time.Time]() {
			return
		}
		p[of] = true
		for i := range of.NumField() {
			p.collect(of.Field(i).Type)
		}
	default:
	}
}

// A time that is not set is left out of histories: auditors would read the year 1.
func TestPayloadsLeaveOutZeroTimes(t *testing.T) {
	t.Parallel()
	all := payloads{}
	worker.Register(all, worker.Services{
		Challenges: struct{ activities.ChallengeMoves }{}, Holds: struct{ activities.HoldMoves }{}, Changes: struct{ activities.ChangeMoves }{},
		Evaluations: struct{ activities.EvaluationMoves }{},
	})
	require.Greater(t, len(all), 20)
	for of := range all {
		for i := range of.NumField() {
			if f := of.Field(i); f.Type == reflect.TypeFor[time.Time]() {
				_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				if !slices.Contains(strings.Split(options, ","), "omitzero") {
					t.Errorf("%s.%s needs the tag json:\",omitzero\"", of, f.Name)
				}
			}
		}
	}
}
