package upkeep

import (
	"context"
	"time"
)

// TemplateRetrainer retrains the templates of earlier population models. template.Service implements it.
type TemplateRetrainer interface {
	RetrainOutdated(ctx context.Context, at time.Time, by string) (done int, more bool, err error)
}

// TemplateTasks returns the tasks about templates.
func TemplateTasks(c TemplateRetrainer) []Task {
	return []Task{{
		Name: "carry-over-templates", Every: 15 * time.Minute, About: "Retrain templates after a different background was activated", Do: c.RetrainOutdated,
	}}
}
