package pg

var _ = DeclareSQL(Table{
	Name: "goose_db_version", Key: []string{"id"}, Placed: OnCoordinator,
	Why:  "the version of the schema is that of the server that migrates",
	Free: Reasons{"*": "decides nothing"},
})

var _ = DeclareSQL(Table{
	Name: "write_probes", Key: []string{"id"}, Placed: OnCoordinator,
	Why:  "empty but for a moment: what a check of readiness writes",
	Free: Reasons{"*": "work and state of hours"},
})

var _ = DeclareSQL(Table{
	Name: "bridges", Key: []string{"name"}, Placed: OnCoordinator,
	Why:  "at most two rows, read alone when a process starts",
	Free: Reasons{"*": "a MAC over them is checked when they are read"},
})
