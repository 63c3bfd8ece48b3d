// Package authz is the room of the decision: actions and their policies (action, policy), changes that wait for a second
// approver (change), what is known of the subject (assurance, backgrounds), the decision itself (authorization), what may follow
// it (challenge, hold, evaluation, with settle in common), and the proof of it (proof, signing).
//
// It may import behavior, account, platform and models. It may not import the services of subject, or delivery: a decision
// reads stored evidence through the store and publishes events, and waits for neither. Packages here know neither Fiber nor
// Temporal. A use case that needs a workflow takes it through an interface of its own package (hold.Workflow,
// challenge.Workflow, change.Workflow, evaluation.Workflow), whose errors are problems and those of platform/durable.
package authz
