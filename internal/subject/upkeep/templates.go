package upkeep

import (
	"context"
	"time"
)

// Carrier stores templates of earlier backgrounds as ones of the background in force (internal/subject/template).
type TemplateRetrainer interface {
	RetrainOutdated(ctx context.Context, at time.Time, by string) (done int, more bool, err error)
}

// Templates are the tasks about what was learned of subjects.
func TemplateTasks(c TemplateRetrainer) []Task {
	return []Task{{
		Name: "carry-over-templates", Every: 15 * time.Minute, About: "Learn templates again after another background was activated", Do: c.RetrainOutdated,
	}}
}
