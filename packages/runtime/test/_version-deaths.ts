import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { openServerJournal } from '../src/boot/server-stores.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import type { Journal } from '../src/engine/journal.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { describeWhen, realServers } from './require.ts';
import { until } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

// Processes of deployed boxes, each of a built bundle, that are killed where a test says.

/** Where the processes of a test keep what they have, one after the other. */
export interface Place {
  folder: string;
  url: string | undefined;
  open(): Promise<Journal>;
}

/** The same suite on both kinds of journals. */
export function describeDeaths(name: string, suite: (openPlace: () => Promise<Place>) => void): void {
  describe(`${name}, on SQLite`, () =>
    suite(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-versions-crash-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      return { folder, url: undefined, open: () => openSqliteJournal({ path: join(folder, 'journal.db') }) };
    }));
  describeWhen(realServers.database, `${name}, on Postgres`, (server) =>
    suite(async () => {
      const { url, drop } = await createDatabase(server);
      onTestFinished(drop);
      return { folder: '', url, open: () => openServerJournal(url) };
    }),
  );
}

/** A call of the journal at which a process dies, and its title. */
export function at(journal: string, when: 'before' | 'after', nth = 1): [string, Death] {
  return [`${when} ${journal}${nth === 1 ? '' : `, the ${nth}. time`}`, { journal, when, nth }];
}

/** The same of a statement, by a regular expression. */
export function atStatement(title: string, sql: string, when: 'before' | 'after'): [string, Death] {
  return [`${when} ${title}`, { sql, when, nth: 1 }];
}

export async function begin({ folder, url }: Place, bundle: string, death?: Death): Promise<Worker> {
  const worker = await forkWorker({ folder, modelUrl: bundle, database: url, death, program: 'versions-worker.mjs' });
  onTestFinished(() => worker.kill());
  return worker;
}

export type Json = Record<string, unknown>;

/** A request of its API: `POST /api/…`. Answers the body, whatever the status. */
export async function ask(worker: Worker, route: string, body?: object): Promise<Json> {
  const [method = '', path = ''] = route.split(' ');
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(worker.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  return (await answer.json()) as Json;
}

/** A run of the workflow `order` that waits for `go-<order>`. */
export async function park(worker: Worker, order: string): Promise<string> {
  const { runId } = await ask(worker, 'POST /api/workflows/order/start', { order });
  await until(async () => (await ask(worker, `GET /api/runs/${String(runId)}`)).status === 'waiting', 30_000);
  return String(runId);
}

/** The run as it ended, or is blocked, once it was resumed. */
export async function finish(worker: Worker, runId: string, order: string): Promise<Json> {
  // Whoever died has perhaps resumed it.
  await ask(worker, `POST /api/workflows/hooks/go-${order}/resume`, {});
  let run: Json = {};
  await until(async () => {
    run = await ask(worker, `GET /api/runs/${runId}?wait=5s`);
    return run.endedAt !== null || run.status === 'blocked';
  }, 60_000);
  return run;
}

/** Resolves once it has killed itself. */
export async function untilDead({ child }: Worker): Promise<void> {
  if (child.signalCode === null && child.exitCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
}

/** Resolves once the lease of a process that was killed is over, which has served this code: until then its runs are left to it. */
export async function untilForgotten(place: Place, codeHash: string): Promise<void> {
  const journal = await place.open();
  await until(async () => !(await journal.replicas.listCodesOfOthers('')).includes(codeHash), 30_000);
  await journal.close();
}

/** Has it forget what nothing needs; answers how many versions. Undefined: it died meanwhile. */
export async function dropUnneeded({ child }: Worker): Promise<number | undefined> {
  const answer = once(child, 'message') as Promise<[{ dropped: number }]>;
  const death = once(child, 'exit').then(() => undefined);
  child.send('drop');
  return (await Promise.race([answer, death]))?.[0].dropped;
}

/** Of a version that is kept, the digests of its files. */
export async function filesOf(journal: Journal, codeHash: string, name = 'order'): Promise<string[]> {
  const found = await journal.code.find({ codeHash, name });
  if (!found) return [];
  const { text } = JSON.parse(found.manifest) as { text: string };
  return Object.values((JSON.parse(text) as { files: Record<string, string> }).files);
}
