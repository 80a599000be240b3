import { expect, onTestFinished, test } from 'vitest';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { operatorToken } from '../src/auth/strategy.ts';
import { resolveIdentity } from '../src/boot/identity.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { openPostgresJournal } from '../src/engine/stores/postgres/journal.ts';
import { svc } from '../src/index.ts';
import { createLog } from '../src/log.ts';
import { createMask } from '../src/mask.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { splitRoute } from '../src/operations/define.ts';
import { createProviderStore } from '../src/provider/store.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { openDatabase } from '../src/stores/database.ts';
import { openPg } from '../src/stores/pg.ts';
import { z } from 'zod';
import { callTool, connect } from './_mcp.ts';
import { call, json, setupBoxes, toStep } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { describeWhen, realServers } from './require.ts';

const boxes = setupBoxes();
const TOKEN = 'planted-operator-token';
const OPERATOR = { authorization: `Bearer ${TOKEN}` };
const PLANTED = {
  provider: 'planted-provider-key',
  secret: 'planted-workspace-secret',
  rotated: 'planted-second-value',
};

/** A box as it is deployed, on a database of its own, with a secret in every place that holds one. */
async function openPlanted(server: string) {
  const made = await createDatabase(server);
  const database = openDatabase(openPg(made.url));
  onTestFinished(async () => {
    await database.close();
    await made.drop();
  });
  await database.ready;
  const secretKey = newMasterKey();
  const given = { hmacSecret: 'planted-hmac-secret' };
  const { identity, secrets } = await resolveIdentity({ database, key: secretKey, given, slug: 's', warn() {} });
  const lines: string[] = [];
  const use = toStep('use', async () => {
    const value = await svc.secrets.get('SHOP_KEY');
    return { length: value.length };
  });
  const fail = toStep('fail', async () => {
    throw new Error(`The shop refused ${(await svc.secrets.get('SHOP_KEY')).length} letters.`);
  });
  const pay = defineTool({
    description: 'Pays.',
    inputSchema: z.object({}),
    execute: async () => (await svc.secrets.get('SHOP_KEY')).length,
  });
  const mask = createMask();
  const box = await boxes.open({
    agents: { helper: defineDeepAgent({ name: 'helper', tools: { pay } }) },
    workflows: { use: { run: () => use() }, fail: { run: () => fail() } },
    provider: 'none',
    journal: await openPostgresJournal({ sql: database.client }),
    options: {
      host: 'image',
      strategy: operatorToken(TOKEN),
      registration: identity,
      exclusive: false,
      db: database.db,
      secretKey,
      mask,
      log: createLog({ level: 'debug', write: (line) => lines.push(line), mask }),
      provider: {
        environment: undefined,
        store: createProviderStore(database.db, Promise.resolve(secrets)),
        egress: { allowLoopback: true, allowed: [] },
      },
      services: () => ({
        database: { url: 'postgres://svc:planted-password@db.example/svc?password=planted-parameter' },
        storage: null,
        agent: { url: 'http://127.0.0.1:4242' },
      }),
    },
  });
  return { box, database, lines, master: secretKey.key.export().toString('base64') };
}

const ask = (box: TestBox, route: string, body?: unknown) => call(box, route, body, OPERATOR);

describeWhen(realServers.database, 'secrets that are planted', (server) => {
  test('are in no answer, no document, no log line and no row of the database', async () => {
    const { box, database, lines, master } = await openPlanted(server);
    const seen: [where: string, text: string][] = [];
    const look = async (where: string, answer: Response | Promise<Response>) =>
      seen.push([where, await (await answer).text()]);
    const see = (where: string, value: unknown) => seen.push([where, JSON.stringify(value)]);

    see(
      'provider.set',
      await ask(box, 'PUT /api/model-provider', { baseUrl: box.model.url, apiKey: PLANTED.provider }),
    );
    see('secrets.set', await ask(box, 'PUT /api/secrets/SHOP_KEY', { value: PLANTED.secret }));
    see('secrets.set again', await ask(box, 'PUT /api/secrets/SHOP_KEY', { value: PLANTED.secret }));
    see('secrets.set refused', await ask(box, 'PUT /api/secrets/SHOP_KEY', { value: [PLANTED.secret] }));
    see('secrets.rotate', await ask(box, 'POST /api/secrets/SHOP_KEY/rotate', { value: PLANTED.rotated }));
    const key = await ask(box, 'POST /api/keys', { name: 'k', grants: { agents: 'all', workflows: 'all' } });
    const keyValue = String(key.body.value);
    expect(keyValue).toMatch(/^svc_/);

    for (const name of ['use', 'fail']) {
      const { body } = await ask(box, `POST /api/workflows/${name}/start`, {});
      see(`run ${name}`, await ask(box, `GET /api/runs/${String(body.runId)}?wait=20s`));
      const paths = ['steps', 'timeline', 'why', 'export', 'logs'].map(
        (path) => `/api/runs/${String(body.runId)}/${path}`,
      );
      for (const path of paths) await look(path, box.request(path, { headers: OPERATOR }));
    }
    const turn = json(
      { model: 'helper', messages: [{ role: 'user', content: 'tool:pay {}' }], stream: true },
      { headers: { 'x-api-key': keyValue } },
    );
    await look('chat', box.request('/wire-a/v1/chat/completions', turn));
    await look('provider.test', box.request('/api/model-provider/test', json({ model: 'm' }, { headers: OPERATOR })));

    // Every document and every list there is.
    const lists = OPERATIONS.filter(({ route, answer }) => route.startsWith('GET ') && !route.includes(':') && !answer);
    const plain = ['/', '/health', '/live', '/metrics', '/api/openapi.json', '/api/docs'];
    for (const path of [...plain, ...lists.map(({ route }) => splitRoute(route).path)])
      await look(path, box.request(path, { headers: OPERATOR }));
    for (const { body } of [await ask(box, 'GET /api/activity?limit=200')])
      for (const { id } of body.items as { id: string }[]) see('activity', await ask(box, `GET /api/activity/${id}`));
    const client = await connect(box, {}, OPERATOR);
    see('mcp list', await callTool(client, 'list_operations', {}));
    for (const operation of ['secrets.set', 'provider.get', 'secrets.list'])
      see('mcp describe', await callTool(client, 'describe_operation', { operation }));
    see('mcp read', await callTool(client, 'call_read_operation', { operation: 'secrets.list' }));

    const tables = await database.client.query(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    expect(tables.length).toBeGreaterThan(20);
    for (const { name } of tables as { name: string }[]) {
      const rows = await database.client.query(`select t::text as row from ${name} t`);
      see(`table ${name}`, rows);
    }
    seen.push(['the log', lines.join('\n')]);

    const secrets = [...Object.values(PLANTED), TOKEN, 'planted-hmac', 'planted-p', keyValue, master];
    const forms = secrets.flatMap((text) => [text, ...encodings(text)]);
    const found = seen.flatMap(([where, text]) =>
      forms.filter((form) => text.includes(form)).map((form) => [where, form]),
    );
    expect(found).toEqual([]);
    // What was looked through was there.
    const whole = seen.map(([, text]) => text).join('\n');
    for (const part of ['SHOP_KEY', 'secret_exists', 'letters.', 'call_', '"openapi"']) expect(whole).toContain(part);
  });

  test('are not disclosed to an API key either', async () => {
    const { box } = await openPlanted(server);
    await ask(box, 'PUT /api/secrets/SHOP_KEY', { value: PLANTED.secret });
    const { body } = await ask(box, 'POST /api/keys', { name: 'k', grants: { agents: 'all', workflows: 'all' } });
    const headers = { authorization: `Bearer ${String(body.value)}` };
    for (const route of [
      'GET /api/secrets',
      'GET /api/secrets/SHOP_KEY',
      'GET /api/model-provider',
      'GET /api/settings',
    ])
      expect((await call(box, route, undefined, headers)).status).toBe(403);
  });
});

test('an address of the database is shown without its password', async () => {
  const services = () => ({
    database: { url: 'postgres://svc:hunter2@db.example:5432/svc?sslmode=require&password=hunter2' },
    storage: null,
    agent: { url: 'http://127.0.0.1:4242' },
  });
  const box = await boxes.open({ options: { services } });
  expect((await call(box, 'GET /api/services')).body).toMatchObject({
    database: { url: 'postgres://svc@db.example:5432/svc?sslmode=require' },
  });
});

/** As they stand in what is kept as bytes. */
function encodings(text: string): string[] {
  const bytes = Buffer.from(text);
  return text.length < 12 ? [] : [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex')];
}
