package main

import (
	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// serverLog is where the Temporal server writes, on standard error, one line a message and without stack traces.
type serverLog struct {
	log.Logger
	wanted  zapcore.Level
	current zap.AtomicLevel
}

// newServerLog prints messages of level ("debug", "info", "warn" or "error") and above. At "error" it stays hushed
// until speak is called: queues that ask for a shard just being acquired call that an error, and try again.
func newServerLog(level string) (*serverLog, error) {
	current, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, err
	}
	base := log.BuildZapLogger(log.Config{Level: level, Format: "console"})
	base = base.WithOptions(zap.IncreaseLevel(current), zap.AddStacktrace(zapcore.InvalidLevel))
	l := &serverLog{Logger: log.NewZapLogger(base), wanted: current.Level(), current: current}
	if l.wanted >= zapcore.ErrorLevel {
		l.hush()
	}
	return l, nil
}

// speak prints from now on what was asked for.
func (l *serverLog) speak() { l.current.SetLevel(l.wanted) }

// hush drops everything but what ends the process. A server that is being stopped reports every poll it cuts off as
// an error, which would bury the reason for the stop.
func (l *serverLog) hush() { l.current.SetLevel(zapcore.FatalLevel) }
