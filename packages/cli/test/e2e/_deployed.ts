import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { createDatabase } from '../../../runtime/src/engine/stores/_clients.ts';
import { openPg } from '../../../runtime/src/stores/pg.ts';
import type { Servers } from '../../../runtime/test/_cluster.ts';
import { eventually, occupy } from './_setup.ts';
import type { Box, Command, Ended, Rig, Workspace } from './_setup.ts';

export type Env = Record<string, string>;

/** Whoever presents it is the operator. */
export const TOKEN = 'operator-token-of-these-tests';

/** A killed box's runs wait for its lease to end; fetching a Node takes a while, the first time. */
export const SLOW_MS = 300_000;

export interface StartOptions {
  env: Env;
  /** Default: the bundle of the file. */
  dir?: string;
  node?: string;
}

export interface Deployed extends Box {
  workspace: Workspace;
}

export interface DeployedRig {
  /** Builds a workspace of the fixture and these files, and answers a copy of its bundle. */
  build(files?: Record<string, string>): Promise<string>;
  /** What a box needs, on a database of its own. */
  makeEnv(more?: Env): Promise<Env>;
  start(workspace: Workspace, options: StartOptions): Command;
  /** Starts a box, and answers once it serves. Requests carry `key`, by default the operator's token. */
  boot(options: StartOptions & { workspace?: Workspace; key?: string }): Promise<Deployed>;
  /** `svc-box keys …`, as it is called in the container of a box with this environment. */
  keys(env: Env, ...args: string[]): Promise<Ended>;
  /** How a box ends that must not open its port, which someone else holds meanwhile: it never gets so far. */
  refuse(options: StartOptions): Promise<Ended>;
}

/** Deployed boxes as processes, on one bundle that is built for the file. */
export function useDeployed(rig: Rig, servers: Servers, files: Record<string, string> = {}): DeployedRig {
  const folders: string[] = [];
  const databases: { drop(): Promise<void> }[] = [];
  let bundle = '';
  const deployed: DeployedRig = {
    async build(given = {}) {
      const workspace = await rig.workspace(given);
      const { code, stderr } = await workspace.svc('build');
      if (code !== 0) throw new Error(stderr);
      // Where nothing of the project is, as in an image.
      const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-bundle-')));
      folders.push(folder);
      cpSync(workspace.path('dist/workspace'), folder, { recursive: true });
      return folder;
    },
    async makeEnv(more = {}) {
      const database = await createDatabase(servers.database);
      databases.push(database);
      return {
        DATABASE_URL: database.url,
        WORKFLOW_KV_URL: servers.kv,
        SVC_SECRET_KEY: randomBytes(32).toString('base64'),
        AGENT_ID: `test-${randomBytes(6).toString('hex')}`,
        MODEL_PROVIDER_BASE_URL: rig.model().url,
        ...more,
      };
    },
    start(workspace, { env, dir = bundle, node }) {
      const port = { PORT: String(workspace.ports.api) };
      return workspace.command([dir], { bin: SVC_BOX, env: { ...port, ...env }, ...(node ? { node } : {}) });
    },
    async boot({ workspace: given, key = TOKEN, env, ...options }) {
      const workspace = given ?? (await rig.workspace());
      const token: Env = key === TOKEN ? { STUDIO_STANDALONE_TOKEN: TOKEN } : {};
      const command = deployed.start(workspace, { ...options, env: { ...token, ...env } });
      await untilServing(command);
      return { ...workspace.talkTo(command, { port: workspace.ports.api, key }), workspace };
    },
    async keys(env, ...args) {
      const workspace = await rig.workspace();
      return workspace.command(['keys', ...args], { bin: SVC_BOX, env }).ended;
    },
    async refuse(options) {
      const workspace = await rig.workspace();
      const release = await occupy(workspace.ports.api);
      const ended = await deployed.start(workspace, options).ended;
      await release();
      expect(ended.code).toBe(1);
      expect(ended.stderr).not.toContain('is in use');
      expect(ended.stderr).not.toMatch(/^\s+at /m);
      return ended;
    },
  };
  beforeAll(async () => void (bundle = await deployed.build(files)), SLOW_MS);
  afterAll(async () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    await Promise.all(databases.map((database) => database.drop()));
  });
  return deployed;
}

export interface Answer<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: T;
}

/** A request whose answer is JSON, or none; with the operator's token unless another one is given. */
export async function send<T = Record<string, unknown>>(
  box: Box,
  route: string,
  { body, token = TOKEN, headers }: { body?: unknown; token?: string | null; headers?: Env } = {},
): Promise<Answer<T>> {
  const [method = 'GET', path = '/'] = route.split(' ');
  const answer = await box.fetch(path, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as T };
}

export async function untilServing(command: Command): Promise<void> {
  const over = command.ended.then(({ code, stderr }) => {
    throw new Error(`The box ended with ${code} before it served.\n${stderr}`);
  });
  await Promise.race([eventually(() => command.stderr().includes('The box serves.'), { within: 60_000 }), over]);
}

export async function query<T = unknown>(env: Env, text: string): Promise<T[]> {
  const client = openPg(env['DATABASE_URL'] ?? '');
  return client.query<T>(text).finally(() => client.close());
}

export interface LogRecord {
  level: string;
  message: string;
  tenant?: string;
  installation?: string;
}

export function recordsOf(box: Command): LogRecord[] {
  const lines = box
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogRecord);
}

export function errorsOf(box: Command): LogRecord[] {
  return recordsOf(box).filter(({ level }) => level !== 'info');
}

export function installationOf(box: Command): string | undefined {
  return recordsOf(box).find(({ installation }) => installation !== undefined)?.installation;
}

// --- internal ---

const SVC_BOX = fileURLToPath(new URL('../../../runtime/bin.mjs', import.meta.url));
