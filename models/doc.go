// Package models holds the tables (one struct a table, in the order of models/migrations) and the typed enumerations
// of their columns. It holds no behaviour, no JSON shapes and no Temporal payloads: those belong to the packages that
// use the rows, so that renaming a column changes no contract.
package models
