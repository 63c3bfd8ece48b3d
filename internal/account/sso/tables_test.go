package sso_test

import _ "github.com/countersign-dev/countersign/internal/testing/tables" // the rows of all tables are checked
