package main

import (
	"github.com/countersign-dev/countersign/models"
)

// addSettings adds the switches and numbers among the settings of an environment to the schemas of an environment and of a change of it, as
// models.DeclaredSettings has them. The sources describe texts and lists.
func addSettings(schemas *object) {
	env, update := schemas.obj("Environment"), schemas.obj("EnvironmentUpdate")
	example, _ := env.list("examples")[0].(*object)
	required := env.list("required")
	for _, s := range models.DeclaredSettings {
		property, value := newObject("type", "boolean"), any(false)
		switch s.Value(new(models.Settings)).(type) {
		case *bool:
		case *int:
			property, value = newObject("type", "integer", "minimum", s.Min, "maximum", s.Max), s.Min
		default:
			continue
		}
		property.set("description", s.Help)
		env.obj("properties").set(s.Name, property)
		update.obj("properties").set(s.Name, property)
		required = append(required, s.Name)
		if example.get(s.Name) == nil {
			example.set(s.Name, value)
		}
	}
	env.set("required", required)
}
