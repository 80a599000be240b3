import { PlaneError } from '../errors.ts';

/** In order, never changed once shipped. Each is a text of statements that SQLite and PostgreSQL both take, ended by `;`. */
export const MIGRATIONS: readonly string[] = [
  `
create table plane_users (
  id text primary key,
  email text not null unique,
  name text not null,
  password text,
  oidc_subject text unique,
  created_at bigint not null
);
create table plane_organizations (
  id text primary key,
  slug text not null unique,
  name text not null,
  created_at bigint not null
);
create table plane_members (
  organization_id text not null references plane_organizations (id) on delete cascade,
  user_id text not null references plane_users (id) on delete cascade,
  role text not null,
  created_at bigint not null,
  primary key (organization_id, user_id)
);
create index plane_members_user on plane_members (user_id);
create table plane_invites (
  id text primary key,
  organization_id text not null references plane_organizations (id) on delete cascade,
  email text not null,
  role text not null,
  token_hash text not null unique,
  invited_by text not null,
  created_at bigint not null,
  expires_at bigint not null,
  accepted_at bigint
);
create index plane_invites_organization on plane_invites (organization_id);
create table plane_sessions (
  id text primary key,
  secret_hash text not null unique,
  user_id text not null references plane_users (id) on delete cascade,
  organization_id text,
  created_at bigint not null,
  seen_at bigint not null,
  expires_at bigint not null
);
create index plane_sessions_user on plane_sessions (user_id);
create index plane_sessions_expires on plane_sessions (expires_at);
create table plane_installations (
  id text primary key,
  organization_id text not null references plane_organizations (id) on delete cascade,
  name text not null,
  created_at bigint not null,
  created_by text not null,
  unique (organization_id, name)
);
create table plane_deployments (
  installation_id text primary key references plane_installations (id) on delete cascade,
  url text not null,
  image_tag text not null,
  contract integer,
  secret text not null,
  registered_at bigint not null,
  registered_by text not null
);
create table plane_audit (
  id text primary key,
  organization_id text,
  at bigint not null,
  action text not null,
  actor text not null,
  target text not null,
  address text
);
create index plane_audit_organization on plane_audit (organization_id, id);
create index plane_audit_at on plane_audit (at);
create table plane_attempts (
  subject text not null,
  minute bigint not null,
  count integer not null,
  primary key (subject, minute)
);
create index plane_attempts_minute on plane_attempts (minute);
create table plane_device_codes (
  device_hash text primary key,
  user_code_hash text not null unique,
  client_id text not null,
  device_name text not null,
  address text,
  status text not null,
  user_id text,
  organization_id text,
  interval_seconds integer not null,
  polled_at bigint,
  salt text,
  granted_at bigint,
  created_at bigint not null,
  expires_at bigint not null
);
create index plane_device_codes_expires on plane_device_codes (expires_at);
create table plane_families (
  id text primary key,
  client_id text not null,
  user_id text not null references plane_users (id) on delete cascade,
  organization_id text not null references plane_organizations (id) on delete cascade,
  device_name text not null,
  created_at bigint not null,
  refreshed_at bigint not null,
  expires_at bigint not null,
  ended_at bigint
);
create index plane_families_user on plane_families (user_id);
create index plane_families_expires on plane_families (expires_at);
create table plane_refresh_tokens (
  token_hash text primary key,
  family_id text not null references plane_families (id) on delete cascade,
  salt text,
  used_at bigint,
  created_at bigint not null
);
create index plane_refresh_tokens_family on plane_refresh_tokens (family_id);
create index plane_refresh_tokens_used on plane_refresh_tokens (used_at);
create table plane_access_tokens (
  token_hash text primary key,
  family_id text not null references plane_families (id) on delete cascade,
  created_at bigint not null,
  expires_at bigint not null
);
create index plane_access_tokens_family on plane_access_tokens (family_id);
create index plane_access_tokens_expires on plane_access_tokens (expires_at);
create table plane_personal_tokens (
  id text primary key,
  token_hash text not null unique,
  user_id text not null references plane_users (id) on delete cascade,
  organization_id text not null references plane_organizations (id) on delete cascade,
  name text not null,
  role text not null,
  created_at bigint not null,
  expires_at bigint not null,
  used_at bigint
);
create index plane_personal_tokens_user on plane_personal_tokens (user_id);
create table plane_signing_keys (
  kid text primary key,
  public_jwk text not null,
  private_jwk text not null,
  created_at bigint not null,
  active_at bigint,
  retired_at bigint
);
create table plane_tunnels (
  installation_id text primary key references plane_installations (id) on delete cascade,
  name text not null unique,
  token_hash text not null,
  created_at bigint not null,
  expires_at bigint not null
);
create table plane_settings (
  name text primary key,
  value text not null
);
`,
  `
alter table plane_sessions add column name text;
alter table plane_sessions add column address text;
alter table plane_families add column address text;
`,
  `
create index plane_families_organization on plane_families (organization_id);
create index plane_personal_tokens_organization on plane_personal_tokens (organization_id);
`,
  // Written and read by nothing: what a tunnel is good for lies in its token.
  `
drop table plane_tunnels;
`,
  // Which of several control planes a box is at. `held`: the time it was taken there.
  `
create table plane_tunnels (
  installation_id text primary key references plane_installations (id) on delete cascade,
  name text not null unique,
  issued_at bigint not null,
  expires_at bigint not null,
  plane text,
  plane_url text,
  held text,
  seen_at bigint
);
create index plane_tunnels_expires on plane_tunnels (expires_at);
create index plane_tunnels_plane on plane_tunnels (plane);
`,
  // It was sealed and never opened: a box that is registered again brings its secret along.
  `
alter table plane_deployments drop column secret;
`,
  // `LEAST_KNOWN` of the version that has written the row.
  `
alter table plane_migrations add column least integer;
`,
];

/**
 * How many of them a control plane has to know to serve on a database that has all. Those after it only add what an earlier version
 * neither reads nor has to write: tables, indexes, columns that may be left out. So earlier and later ones serve beside each other while
 * they are rolled out, and an earlier one can be started again. What is no longer used is dropped a version later, which raises this.
 */
export const LEAST_KNOWN = 6;

/** Throws `database_newer` for a database that this version cannot serve on. `least`: of its newest row, of more migrations than we have. */
export function requireKnown({ done, least }: { done: number; least: number | null }): void {
  if (done > MIGRATIONS.length && (least ?? done) > MIGRATIONS.length) throw databaseNewer();
}

export function databaseNewer(): PlaneError {
  return new PlaneError(
    'database_newer',
    'The database was written by a later version of the control plane. Start that one.',
  );
}
