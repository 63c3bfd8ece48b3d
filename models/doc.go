// Package models defines the rows of the database, one struct for each table of models/migrations, and the enumerations of
// their columns. It has no behaviour, no JSON shapes and no Temporal payloads: those belong to the packages that use the
// rows, so that renaming a column changes no contract.
package models
