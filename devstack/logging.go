package main

import (
	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// serverLog is where the Temporal server writes, on standard error, one line a message and without stack traces.
type serverLog struct {
	log.Logger
	level zap.AtomicLevel
}

// newServerLog prints messages of level ("debug", "info", "warn" or "error") and above.
func newServerLog(level string) (*serverLog, error) {
	parsed, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, err
	}
	base := log.BuildZapLogger(log.Config{Level: level, Format: "console"})
	base = base.WithOptions(zap.IncreaseLevel(parsed), zap.AddStacktrace(zapcore.InvalidLevel))
	return &serverLog{Logger: log.NewZapLogger(base), level: parsed}, nil
}

// hush drops everything but what ends the process. A server that is being stopped reports every poll it cuts off as
// an error, which would bury the reason for the stop.
func (l *serverLog) hush() { l.level.SetLevel(zapcore.FatalLevel) }
