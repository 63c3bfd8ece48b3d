-- Binaries from this version on find the proofs of a subject by its decisions, delete the proof of a decision themselves, and count
-- decisions by the index authorizations_counts, which countersign migrate builds after the migrations: its steps also fit a table that is
-- divided into partitions. What only earlier ones need goes with countersign migrate --contract: the index proofs_subject, the index
-- authorizations_tally, and the foreign key of proofs to decisions, which locks the decision that its own statement writes. A database
-- that was contracted before is contracted again for it.
-- +goose Up
select 1;

-- +goose Down
select 1;
