import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openPg } from '@svc/runtime/host';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually, useRig } from './_setup.ts';
import type { Box, Workspace } from './_setup.ts';

const rig = useRig();
const CLOSED = { model: false };

const putProvider = (box: Box, body: object) =>
  box.fetch('/api/model-provider', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('the gate', () => {
  it('is closed without a provider, opens in place, and stays open after a restart', async () => {
    const workspace = await rig.workspace();
    const box = await workspace.boot(CLOSED);
    expect(box.payload).toMatchObject({ gate: { open: false, reason: 'no-model-provider' }, deep_agents: [] });
    expect(box.stderr()).toContain('MODEL_PROVIDER_BASE_URL=');
    expect(box.stderr()).toContain(`curl -X PUT ${box.url}/api/model-provider`);
    expect(await box.chat('echo', 'say:hi')).toContain('agent_runtime_not_armed');
    const refused = await box.start('greet', { name: 'Ada' }).catch((error: Error) => error.message);
    expect(refused).toContain('503');
    expect(refused).toContain('workflow_runtime_not_armed');
    const started = await workspace.svc('workflows', 'start', 'greet', '--json');
    expect(started.code).toBe(1);
    expect(JSON.parse(started.stdout).error.code).toBe('workflow_runtime_not_armed');

    // What is edited while it is closed is what opens.
    workspace.edit('lib/word.ts', 'word-1', 'word-2');
    const { url } = rig.model();
    expect((await putProvider(box, { baseUrl: url, apiKey: 'sk-secret' })).status).toBe(200);
    await eventually(async () => (await box.chat('echo', 'tool:answer {}')).includes('agent-1 word-2'));
    expect((await box.finish((await box.start('greet', { name: 'Ada' })).runId)).status).toBe('completed');
    workspace.edit('lib/word.ts', 'word-2', 'word-3');
    await eventually(async () => (await box.chat('echo', 'tool:answer {}')).includes('agent-1 word-3'));
    expect(await (await box.fetch('/api/model-provider')).text()).not.toContain('sk-secret');
    await box.stop();

    const again = await workspace.boot(CLOSED);
    expect(again.payload).toMatchObject({
      gate: { open: true, reason: 'model-provider-stored' },
      deep_agents: ['echo'],
    });
    expect(await again.chat('echo', 'say:back')).toBe('back');
    await again.stop();

    const named = await workspace.boot();
    expect(named.payload.gate).toEqual({ open: true, reason: 'model-provider-env' });
    await named.stop();
  });

  it('refuses an address that is none, and stays closed', async () => {
    const workspace = await rig.workspace();
    const box = await workspace.boot(CLOSED);
    const answer = await putProvider(box, { baseUrl: 'provider' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'provider_url_invalid' });
    expect(await box.chat('echo', 'say:hi')).toContain('agent_runtime_not_armed');
    await box.stop();
  });

  it('keeps the provider of the environment for a start without it, unless a person has stored one', async () => {
    const workspace = await rig.workspace();
    await (await workspace.boot()).stop();
    const kept = await workspace.boot(CLOSED);
    expect(kept.payload.gate).toEqual({ open: true, reason: 'model-provider-stored' });
    expect(await kept.chat('echo', 'say:kept')).toBe('kept');
    const other = `${rig.model().url}/`;
    expect((await putProvider(kept, { baseUrl: other })).status).toBe(200);
    await kept.stop();
    await (await workspace.boot()).stop();
    const again = await workspace.boot(CLOSED);
    expect(await (await again.fetch('/api/model-provider')).json()).toMatchObject({ baseUrl: other, source: 'stored' });
    await again.stop();
  });

  it('keeps the key of the environment sealed: in no file and no row, and the next start sends it', async () => {
    const workspace = await rig.workspace();
    const provider = await startKeyed(rig.model().port);
    const key = `sk-planted-${crypto.randomUUID()}`;
    const env = { MODEL_PROVIDER_BASE_URL: provider.url, MODEL_PROVIDER_API_KEY: key };
    const first = await workspace.boot({ model: false, env });
    expect(await first.chat('echo', 'say:hi')).toBe('hi');
    const rows = await dump(first);
    await first.stop();
    const files = readFiles(workspace);

    const again = await workspace.boot(CLOSED);
    provider.credentials.length = 0;
    expect(await again.chat('echo', 'say:again')).toBe('again');
    expect(new Set(provider.credentials)).toEqual(new Set([`Bearer ${key}`]));
    await again.stop();

    const forms = [key, ...(['base64', 'base64url', 'hex'] as const).map((form) => Buffer.from(key).toString(form))];
    const seen = [
      ...files,
      ['the database', Buffer.from(rows)] as const,
      ['stdout', Buffer.from(first.stdout())] as const,
      ['stderr', Buffer.from(first.stderr())] as const,
    ];
    const found = seen.filter(([, bytes]) => forms.some((form) => bytes.includes(form.replace(/=+$/, ''))));
    expect(found.map(([where]) => where)).toEqual([]);
    // What was looked through holds the rest of the provider, as it was given.
    expect(rows).toContain(provider.url);
    expect(files.filter(([, bytes]) => bytes.includes(provider.url)).length).toBeGreaterThan(0);
  });

  it('is open without a provider once any run has completed', async () => {
    const workspace = await rig.workspace();
    const first = await workspace.boot();
    const { runId } = await first.start('greet', { name: 'Ada' });
    await first.finish(runId);
    expect((await first.fetch('/api/model-provider', { method: 'DELETE' })).status).toBe(200);
    await first.stop();
    const box = await workspace.boot(CLOSED);
    expect(box.payload).toMatchObject({ gate: { open: true, reason: 'first-run-completed' }, deep_agents: ['echo'] });
    expect((await box.finish((await box.start('greet', { name: 'Bo' })).runId)).output).toBe('workflow-1 hello-1 Bo');
    expect(await box.chat('echo', 'say:hi')).toContain('model_provider_missing');
    await box.stop();
  });
});

// --- internal ---

/** The scripted model behind a door that notes the credential of each request. */
async function startKeyed(port: number): Promise<{ url: string; credentials: (string | undefined)[] }> {
  const credentials: (string | undefined)[] = [];
  const server = createServer((incoming, outgoing) => {
    const { url: path, method, headers } = incoming;
    credentials.push(headers.authorization);
    const onward = request({ port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, credentials };
}

/** Every row of every table of the dev database, as text. */
async function dump(box: Box): Promise<string> {
  const client = openPg(box.payload.services.postgres_url);
  try {
    const tables = (await client.query(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    )) as { name: string }[];
    expect(tables.length).toBeGreaterThan(10);
    const rows = [];
    for (const { name } of tables) rows.push(name, JSON.stringify(await client.query(`select t::text from ${name} t`)));
    return rows.join('\n');
  } finally {
    await client.close();
  }
}

/** Every file below `.svc`, by its path. */
function readFiles({ path }: Workspace): (readonly [string, Buffer])[] {
  const entries = readdirSync(path('.svc'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name))] as const);
}
