import { existsSync, readdirSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { openPg } from '../../runtime/src/stores/pg.ts';
import { startDev } from '../src/dev/start.ts';
import type { DevOptions } from '../src/dev/start.ts';
import { eventually } from './e2e/_setup.ts';
import type { Rig, Workspace } from './e2e/_setup.ts';

/** A boot of the embedded database takes a second or two, and the machine may be busy. */
export const SLOW_MS = 120_000;

export const USERS = `import { integer, pgTable, text } from 'drizzle-orm/pg-core';

export const users = pgTable('users', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  name: text().notNull(),
});
`;

export const ADD_USER = `import { svc } from '@svc/runtime';
import { users } from '../src/schema.ts';

export async function addUserWorkflow(name: string) {
  'use workflow';
  return addUser(name);
}

async function addUser(name: string) {
  'use step';
  await svc.database.insert(users).values({ name });
  return svc.database.select().from(users);
}
`;

export interface Dev {
  workspace: Workspace;
  said: string[];
  query<Row>(text: string): Promise<Row[]>;
  /** In a transaction of its own. */
  during(work: (query: (text: string) => Promise<unknown>) => Promise<void>): Promise<void>;
  /** Resolves once a line said since `from` fits. */
  heard(pattern: RegExp, from?: number): Promise<string>;
  edit(file: string, change: (text: string) => string): void;
  migrations(): string[];
  call<T>(path: string, body?: unknown): Promise<T>;
  close(): Promise<void>;
}

/** `svc dev` in this process, until the test ends. */
export async function bootDev(rig: Rig, workspace: Workspace, options: Partial<DevOptions> = {}): Promise<Dev> {
  const said: string[] = [];
  const env = { ...workspace.env, MODEL_PROVIDER_BASE_URL: rig.model().url, ...options.env };
  const say = (line: string) => void said.push(line);
  const server = await startDev({
    root: workspace.root,
    listen: false,
    json: true,
    verbose: false,
    say,
    ...options,
    env,
  });
  const { postgres_url: url } = server.payload.services as { postgres_url: string };
  const client = openPg(url);
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= client.close().then(() => server.close()));
  onTestFinished(close);
  return {
    workspace,
    said,
    query: (text) => client.query(text),
    during: (work) => client.transaction((tx) => work((text) => tx.query(text))),
    heard: async (pattern, from = 0) =>
      eventually(() => said.slice(from).find((line) => pattern.test(line)), { within: 30_000 }) as Promise<string>,
    edit(file, change) {
      workspace.write(file, change(workspace.read(file)));
    },
    migrations: () => listMigrations(workspace),
    async call<T>(path: string, body?: unknown) {
      const init = { method: 'POST', headers: JSON_BODY, body: JSON.stringify(body) };
      const response = await fetch(String(server.payload.agent_url) + path, body === undefined ? {} : init);
      return (await response.json()) as T;
    },
    close,
  };
}

/** Any key will do under `svc dev`. */
const JSON_BODY = { 'content-type': 'application/json', authorization: 'Bearer any' };

export function listMigrations({ path }: Workspace): string[] {
  const folder = path('.svc/migrations');
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.sql'))
        .sort()
    : [];
}

export const columnsOf = async ({ query }: Dev, table: string) =>
  (
    await query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = '${table}' order by ordinal_position`,
    )
  ).map(({ name }) => name);
