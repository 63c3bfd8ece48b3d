package upkeep

import (
	"context"
	"time"
)

// TemplateRetrainer retrains the templates of earlier population models. template.Service implements it.
type TemplateRetrainer interface {
	RetrainOutdated(ctx context.Context, at time.Time, by string) (done int, more bool, err error)
}

// BackgroundScheduler schedules the learning of environments' backgrounds. backgrounds.Service implements it.
type BackgroundScheduler interface {
	ScheduleAll(ctx context.Context, at time.Time, by string) (done int, more bool, err error)
}

// TemplateTasks returns the tasks about templates and what they are compared with.
func TemplateTasks(c TemplateRetrainer, b BackgroundScheduler) []Task {
	return []Task{
		{Name: "carry-over-templates", Every: 15 * time.Minute, About: "Retrain templates after a different background was activated", Do: c.RetrainOutdated},
		{Name: "learn-backgrounds", Every: 6 * time.Hour, About: "Start the daily learning of the backgrounds of environments", Do: b.ScheduleAll},
	}
}
