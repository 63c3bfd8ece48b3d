package main

import (
	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// serverLog is the Temporal server's logger. It writes one line per message to standard error, without stack traces.
type serverLog struct {
	log.Logger
	wanted  zapcore.Level
	current zap.AtomicLevel
}

// newServerLog returns a logger that prints messages of level ("debug", "info", "warn" or "error") and above. At
// "error" it is silent until speak is called: at start, queues report a shard that is still being acquired as an
// error, and retry.
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

// speak enables the configured level.
func (l *serverLog) speak() { l.current.SetLevel(l.wanted) }

// hush suppresses everything below fatal. A server that is stopping reports every interrupted poll as an error,
// which would hide the reason for the stop.
func (l *serverLog) hush() { l.current.SetLevel(zapcore.FatalLevel) }
