import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bothServers } from '../../runtime/test/_cluster.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { openBox } from '../../control-plane/test/_box.ts';
import {
  addPerson,
  ask,
  cookieOf,
  logIn as logInByPage,
  PASSWORD,
  signUpFirst,
} from '../../control-plane/test/_people.ts';
import { startPlane } from '../../control-plane/test/_setup.ts';
import { makeHome } from './_home.ts';
import { logIn, QUICK_POLL_S } from './_plane.ts';
import { findMisfit, listPaths } from './_documents.ts';
import { runCli } from './_run.ts';
import { openSeededBox, seedEvals } from './_seeded.ts';
import { makeProject, readDocument, startBox } from './_setup.ts';
import { SLOW_MS, useDeployed } from './e2e/_deployed.ts';
import { eventually, useRig } from './e2e/_setup.ts';

const rig = useRig();
const boxes = setupBoxes();

// `runCli` and the commands of the rig hold each document to docs/reference/payloads.json. Here every verb is run, with
// what there is something to say about. `{name}` is what the box knows by that name, `{started}` the run of the
// start before.

/** In this order, in a project whose box has one of everything. */
const ON_A_BOX = [
  'workflows list',
  'workflows schema greet',
  'workflows start greet --input {"name":"Ada"}',
  'workflows start greet --input {"name":"Ada"} --wait',
  'workflows start greet --delay 1h --id later',
  'workflows start-many greet --from starts.jsonl',
  'workflows queue greet',
  'workflows changes greet',
  'workflows find greet later',
  'workflows dequeue greet {queued} --yes',
  'runs list',
  'runs list --all',
  'runs get {failed}',
  'runs steps {completed}',
  'runs step {completed} 0',
  'runs streams {completed}',
  'runs stream {completed} default',
  'runs watch {completed}',
  'runs webhooks {completed}',
  'runs retry {failed}',
  'runs fork {completed} --from start --dry-run',
  'runs fork {completed} --from start --yes',
  'runs rewind {completed} --from start --yes',
  'why {waiting}',
  'upgrade --check',
  'upgrade --apply',
  'pull run {completed}',
  'logs list',
  'logs tail --run {completed}',
  'sessions list',
  'sessions get {session}',
  'memory list',
  'memory clear --user ada --yes',
  'sessions delete {session} --yes',
  'hitl list',
  'hitl get {approval}',
  'hitl approve {approval}',
  'hitl reject {otherApproval}',
  'workflows start ask',
  'runs state {started}',
  'runs pause {started}',
  'runs cancel-all --name ask --dry-run',
  'runs retry-all --name nobody --yes',
  'runs delete-all --name nobody --yes',
  'runs cancel {started} --yes',
  'runs delete {completed} --yes',
  'chat support say:Hello.',
  'hooks signal paid:7',
  'hooks kept',
  'events send order.paid --payload {}',
  'jobs list',
  'jobs pause report:0',
  'jobs resume report:0',
  'jobs run report:0',
  'notify receivers',
  'notify list',
  'usage list',
  'usage get agent helper',
  'eval smoke',
  'eval list',
  'eval get {evalRun}',
  'eval compare {evalRun}',
  'prompts list',
  'prompts get {prompt}',
  'prompts create tone --owner-kind workspace --name Tone --text Brief.',
  'prompts update {prompt} --text Briefer.',
  'prompts versions {prompt}',
  'prompts publish {prompt} --version 1',
  'prompts publish {prompt} --version 2',
  'prompts rollback {prompt}',
  'prompts delete {prompt} --yes',
  'guardrails create cards --action mask --sides agent-input --check {"kind":"pii","kinds":["card"]}',
  'guardrails list',
  'guardrails get {rule}',
  'guardrails update {rule} --no-enabled',
  'guardrails order --ids {rule}',
  'guardrails test --text 4111-1111-1111-1111',
  'guardrails test --run {failed}',
  'guardrails hits',
  'guardrails delete {rule} --yes',
  'config list',
  'config get greeting',
  'config set limit 7',
  'config unset limit --yes',
  'secrets list',
  'secrets set API_TOKEN --from-file secret.txt',
  'secrets rotate API_TOKEN --from-file secret.txt --yes',
  'secrets delete API_TOKEN --yes',
  'db tables',
  'db query values(1)',
  'rag list',
  'rag add handbook notice --text Closed.',
  'rag upload handbook secret.txt',
  'rag search handbook holidays --mode text',
  'rag rm handbook leave.md --yes',
  'rag reindex handbook',
  'keys list',
  'keys create --name partner --workflows greet',
  'keys update {key} --tokens-per-day 1000',
  'keys rotate {key} --overlap 1h',
  'provider get',
  'provider test',
  'provider models',
  'provider set https://8.8.8.8/v1 --keyless',
  'provider delete --yes',
  'keys revoke {key} --yes',
  'catalog list',
  'catalog update agent support --tokens-per-day 1000',
  'storage buckets',
  'storage ls',
  'storage put secret.txt files/secret.txt',
  'storage get files/secret.txt --out got.txt',
  'storage rm files/secret.txt --yes',
  'activity list',
  'activity get {change}',
  'contract show',
];

/** In this order, in a workspace. */
const IN_A_WORKSPACE = [
  'init made --no-install',
  'add agent helper',
  'add deep-agent clerk',
  'add workflow triage --calls helper',
  'add workflow-agent guide',
  'schema status',
  'schema generate',
  'schema status',
  'schema apply',
  'check',
  'contract validate',
  'build',
  'package --target self-host',
  'complete bash',
];

/** Each has a test of its own. */
const ELSEWHERE = [
  'dev',
  'plane',
  'plane backup',
  'plane restore',
  'plane reset-password',
  'plane rotate-keys',
  'replay',
  'start',
  'login',
  'whoami',
  'link',
  'logout',
  'account sessions',
  'account sign-out',
  'account delete',
  'account delete-organization',
  'runs resume',
  'notify redeliver',
  'eval cancel',
];

describe('every verb prints what docs/reference/payloads.json says of it', () => {
  it('and none is left out', () => {
    const ran = [...ON_A_BOX, ...IN_A_WORKSPACE].map((line) =>
      listPaths()
        .filter((path) => `${line} `.startsWith(`${path} `))
        .toSorted((a, b) => b.length - a.length)
        .at(0),
    );
    expect([...new Set([...ran, ...ELSEWHERE])].sort()).toEqual(listPaths().sort());
  });

  it(
    'of a box',
    async () => {
      const { url, ...seeds } = await openSeededBox(boxes);
      const cwd = await makeProject(url);
      await writeFile(join(cwd, 'secret.txt'), 'a planted value');
      await writeFile(join(cwd, 'starts.jsonl'), '{"input":{"name":"Ada"}}\n{"input":{"name":"Bob"},"delay":"1h"}\n');
      const { items } = readDocument(await runCli(['activity', 'list', '--json'], { cwd }));
      const evalRun = await seedEvals(url);
      const names: Record<string, string> = { ...seeds, evalRun, change: (items as { id: string }[])[0]?.id ?? '' };
      for (const line of ON_A_BOX) {
        const argv = line.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? '').split(' ');
        const result = await runCli([...argv, '--json'], { cwd });
        expect([line, result]).toMatchObject([line, { exitCode: 0 }]);
        if (line.includes('--delay')) names.queued = String(readDocument(result).triggerId);
        if (line.startsWith('guardrails create')) names.rule = String(readDocument(result).id);
        if (line === 'workflows start ask') names.started = String(readDocument(result).runId);
      }
    },
    SLOW_MS,
  );

  it('of a run that is blocked', async () => {
    const { url, waiting } = await openSeededBox(boxes);
    const got = readDocument(await runCli(['runs', 'get', waiting, '--json'], { cwd: await makeProject(url) }));
    // Its code is told of one that is asked for alone.
    const { code: _code, ...run } = got.run as Record<string, unknown>;
    // To block a run takes another version of its code: the answer is a run as well.
    const resuming = await startBox({ [`POST /api/runs/${waiting}/resume`]: { body: run } });
    const result = await runCli(['runs', 'resume', waiting, '--json'], { cwd: await makeProject(resuming.url) });
    expect(await findMisfit('svc runs resume', readDocument(result))).toBeUndefined();
    const body = { ...run, status: 'blocked', waitingFor: { type: 'decision', message: 'It differs.' } };
    const again = await startBox({ [`POST /api/runs/${waiting}/resume`]: { body } });
    const blocked = await runCli(['runs', 'resume', waiting], { cwd: await makeProject(again.url) });
    expect(blocked).toMatchObject({ exitCode: 1, stdout: `Blocked again run ${waiting}. It differs.\n` });
    expect(blocked.stderr).toContain(`svc why ${waiting}`);
  });

  it(
    'of a workspace, while svc dev runs it',
    async () => {
      const workspace = await rig.workspace({ 'src/schema.ts': SCHEMA });
      const box = await workspace.boot({ args: ['--no-auto-migrate'] });
      expect(await findMisfit('svc dev', box.payload)).toBeUndefined();
      const { runId } = await box.start('greet', { name: 'Ada' });
      await box.finish(runId);
      for (const line of [...IN_A_WORKSPACE, `replay ${runId}`]) {
        const result = await runCli([...line.split(' '), '--json'], { cwd: workspace.root });
        expect([line, result]).toMatchObject([line, { exitCode: 0 }]);
      }
      expect((await box.stop()).code).toBe(0);
    },
    SLOW_MS,
  );

  it('of a control plane', async () => {
    const plane = await startPlane({ pollSeconds: QUICK_POLL_S });
    const ada = await signUpFirst(plane);
    const agent = (await ask(plane, 'POST /api/v1/installations', { ...ada, body: { name: 'shop' } })).body
      .id as string;
    const registration = { installationId: agent, hmacSecret: HMAC_SECRET };
    const box = await openBox(boxes, { issuer: plane.url, installationId: agent, registration });
    const env = { ...makeHome(plane), HMAC_SECRET };
    const options = { cwd: await makeProject(), env, stdin: PASSWORD };
    const run = async (lines: string[]) => {
      for (const line of lines) {
        const result = await runCli([...line.split(' '), '--json'], options);
        expect([line, result]).toMatchObject([line, { exitCode: 0 }]);
      }
    };
    await logIn(plane, ada, env);
    await run([
      'whoami',
      'account sessions',
      'account sign-out --others',
      `link ${agent} --url ${await box.listen()} --image-tag shop:12`,
      'logout',
    ]);
    // The browser was among the others.
    ada.cookie = cookieOf(await logInByPage(plane, ada.email));
    await logIn(plane, ada, env);
    await run(['account delete-organization acme --yes']);
    const { id: organizationId } = (await ask(plane, 'POST /api/v1/orgs', { ...ada, body: { name: 'Own' } })).body;
    await addPerson(plane, { ...ada, organizationId }, { email: 'bo@example.com', role: 'owner' });
    await logIn(plane, { ...ada, organizationId }, env);
    await run(['account delete --yes']);
  });

  it('of no verb', async () => {
    for (const argv of [['--version'], ['--help'], ['runs', '--help'], ['login', '--help'], ['nope'], ['runs']])
      await runCli([...argv, '--json']);
    await runCli(['complete', '--json', '--', 'runs', '']);
  });
});

describeWhen(bothServers, 'a deployed box prints what docs/reference/payloads.json says', (servers) => {
  const { makeEnv } = useDeployed(rig, servers);

  it(
    'of svc start',
    async () => {
      const [workspace, env] = [await rig.workspace(), await makeEnv()];
      expect((await workspace.svc('build', '--json')).code).toBe(0);
      const command = workspace.command(['start', '--json'], {
        env: { ...env, PORT: String(workspace.ports.api), SVC_INSECURE_LOCAL: '1' },
      });
      await eventually(() => command.stdout().endsWith('\n'), { within: 60_000 });
      expect(await findMisfit('svc start', JSON.parse(command.stdout()))).toBeUndefined();
      expect(await workspace.talkTo(command, { port: workspace.ports.api }).stop()).toMatchObject({ code: 0 });
    },
    SLOW_MS,
  );
});

describe('the reference', () => {
  it('is what every test of commands holds them to', () => {
    const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.ts') && file !== '_run.ts');
    const around = files.filter((file) =>
      /^import \{[^}]*\brunCli\b[^}]*\} from '\.\.\/src\/main\.ts'/m.test(
        readFileSync(join(import.meta.dirname, file), 'utf8'),
      ),
    );
    expect(around).toEqual([]);
  });

  it('refuses a document that lacks a member, has one more, or has one of another type', async () => {
    const right = { schema_version: 1, endpoint: null, signedOut: false };
    expect(await findMisfit('svc logout', right)).toBeUndefined();
    for (const wrong of [{ endpoint: undefined }, { more: 1 }, { signedOut: 'no' }, { schema_version: 2 }])
      expect(await findMisfit('svc logout', JSON.parse(JSON.stringify({ ...right, ...wrong })))).toBeDefined();
  });
});

// --- internal ---

const HMAC_SECRET = 'f'.repeat(64);

const SCHEMA = `import { integer, pgTable } from 'drizzle-orm/pg-core';
export const visits = pgTable('visits', { id: integer().primaryKey() });
`;
