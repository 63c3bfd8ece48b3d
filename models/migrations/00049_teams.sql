-- Teams of reviewers, what a hold wants of each, and deputies of staff who are absent.
-- +goose Up
create table teams (
    id             text        primary key,
    tenant_id      text        not null references tenants (id),
    environment_id text        not null references environments (id),
    -- Policies name a team by its key.
    key            text        not null,
    name           text        not null,
    created_at     timestamptz not null,
    created_by     text        not null,
    unique (environment_id, key)
);

-- A member is an actor: person:<id> or credential:<id>.
create table team_members (
    team_id        text        not null references teams (id) on delete cascade,
    tenant_id      text        not null,
    environment_id text        not null,
    member         text        not null,
    added_at       timestamptz not null,
    added_by       text        not null,
    primary key (team_id, member)
);
create index team_members_member on team_members (environment_id, member);

-- One row for each team that a hold wants approvals of, as the policy said when the hold was opened.
create table hold_teams (
    authorization_id text        not null references holds (authorization_id) on delete cascade,
    tenant_id        text        not null,
    environment_id   text        not null,
    team             text        not null,
    approvals        integer     not null check (approvals between 1 and 5),
    -- Members of this team may give the approvals as well from escalate_at on.
    escalate_team    text,
    escalate_at      timestamptz,
    escalated_at     timestamptz,
    primary key (authorization_id, team)
);
create index hold_teams_team on hold_teams (environment_id, team);

-- The deputy may approve in the place of the person while the period lasts. Rows are kept: an approval is judged by the period
-- that it was given in.
create table deputies (
    id             text        primary key,
    tenant_id      text        not null,
    environment_id text        not null references environments (id),
    person_id      text        not null references people (id) on delete cascade,
    deputy_id      text        not null references people (id) on delete cascade,
    starts_at      timestamptz not null,
    ends_at        timestamptz not null check (ends_at >= starts_at),
    created_at     timestamptz not null
);
create index deputies_deputy on deputies (environment_id, deputy_id);
create index deputies_person on deputies (environment_id, person_id);

-- +goose Down
drop table deputies, hold_teams, team_members, teams;
