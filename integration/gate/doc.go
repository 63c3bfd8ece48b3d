// Package gate_test tests countersign-gate with the running service, behind the real proxies of its recipes.
package gate_test
