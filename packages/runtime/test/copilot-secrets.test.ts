import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../src/log.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { svc } from '../src/svc.ts';
import { codeOf, confirm, decide, inTurn, reasonOf, startPlayedModel, talk, use, write } from './_copilot.ts';
import type { PlayedModel, Told, ToolUse } from './_copilot.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Json = Record<string, unknown>;
type Headers = Record<string, string>;

const boxes = setupBoxes();
const VALUE = 'hush-hush-4f8b2c9a71de0035';
let plane: Plane;
let model: PlayedModel;
const logged: string[] = [];
const log = createLog({ level: 'debug', write: (line) => void logged.push(JSON.stringify(line)) });
beforeAll(async () => {
  plane = await startPlane();
  model = await startPlayedModel();
});
afterAll(async () => {
  await plane.close();
  await model.close();
});

const as = async (role: string, sub = role): Promise<Headers> => ({
  authorization: `Bearer ${await plane.mint(role, { claims: { sub, name: sub } })}`,
});

/** The boxes of this file share one database: each test has a secret of its own. */
let bank = '';
let banks = 0;
beforeEach(() => {
  bank = `BANK_${++banks}`;
});

let stored: unknown[] = [];
const readSecret = toStep('readSecret', async (name: string) => void stored.push(await svc.secrets.get(name)));

/** What the secret is. */
async function readStored(box: TestBox, headers?: Headers): Promise<unknown> {
  stored = [];
  await call(box, 'POST /api/workflows/readSecret/start', bank, headers);
  await until(() => stored.length > 0);
  return stored[0];
}

async function open(more: Json = {}, headers?: Headers): Promise<TestBox> {
  const box = await boxes.open({
    workflows: { readSecret: { run: async (name: string) => readSecret(name) } },
    provider: { baseUrl: model.url, apiKey: 'key' },
    options: { secretKey: newMasterKey(), ...more },
  });
  await call(box, 'PUT /api/settings/copilot', { enabled: true }, headers);
  return box;
}
const deployed = async (): Promise<TestBox> =>
  open({ host: 'image', strategy: plane.strategy({ log }), log, records: log }, await as('owner'));

/** Asks for a confirmation for as long as that is asked for, and with the value again where that is. */
const next = (last: Json): ToolUse[] | string => {
  if (codeOf(last) !== 'confirmation_required') return 'Over.';
  return last.requestState === undefined ? write('secrets.set', { name: bank, value: VALUE }) : confirm(last);
};
const askToSet = (box: TestBox, thread: string): Promise<Told> => {
  model.play = inTurn(write('secrets.set', { name: bank, value: VALUE }), next, next, next);
  return talk(box, thread, { text: 'Keep it.' });
};
const argumentsOf = ({ interrupts }: Told) => interrupts[0]?.metadata.svc.arguments as Json & { input: Json };
const outcomeOf = ({ results, interrupts }: Told) => [codeOf(results[0]), reasonOf(results[0]), interrupts.length];

/** All that anyone reads of the turns of the copilot, by where. */
async function readAll(box: TestBox, thread: string): Promise<Record<string, string>> {
  const headers = await as('admin', 'adam');
  const read = async (path: string) => (await box.request(path, { headers })).text();
  const list = async (path: string) => (JSON.parse(await read(path)) as { items: Json[] }).items;
  const places: Record<string, string> = { log: logged.join('\n'), activity: await read('/api/activity') };
  for (const { runId } of await list('/api/runs?name=studio-copilot')) {
    const run = `/api/runs/${String(runId)}`;
    for (const part of ['', '/steps', '/timeline', '/why', '/export'])
      places[`run${part}`] = await read(`${run}${part}`);
    for (const { stepId, call: n } of await list(`${run}/steps`))
      places[`step ${String(stepId)} ${String(n)}`] = await read(`${run}/steps/${String(n)}`);
    places.approvals = await read(`/api/approvals?run=${String(runId)}`);
  }
  for (const { sessionId } of await list('/api/sessions'))
    places.messages = (places.messages ?? '') + (await read(`/api/sessions/${String(sessionId)}/messages`));
  model.play = () => 'Hello.';
  const told = await talk(box, thread, { text: 'What was said?', headers: await as('viewer', 'vic') });
  places.thread = JSON.stringify(told.events);
  places.model = JSON.stringify(model.asked.at(-1));
  return places;
}
const leaksOf = (places: Record<string, string>) =>
  Object.entries(places)
    .filter(([, text]) => text.includes(VALUE))
    .map(([place]) => place);

describe('a value that is set through the copilot', () => {
  test.each([
    ['secrets.set', () => ({ name: bank, value: VALUE })],
    ['secrets.rotate', () => ({ name: bank, value: VALUE })],
    ['provider.set', () => ({ baseUrl: 'http://127.0.0.1:9/v1', apiKey: VALUE })],
  ])('is read nowhere afterwards: %s', async (operation, toInput) => {
    const box = await deployed();
    const input = toInput();
    if (operation === 'secrets.rotate')
      await call(box, `PUT /api/secrets/${bank}`, { value: 'before' }, await as('owner'));
    const ann = await as('owner', 'ann');
    model.play = inTurn(write(operation, input), confirm, () => 'Done.');
    const told = await talk(box, operation, { text: 'Keep it.', headers: ann });
    expect(told.results[0]).toMatchObject({ code: 'confirmation_required' });
    const [name = ''] = Object.entries(input).find(([, value]) => value === VALUE) ?? [];
    expect(argumentsOf(told).input).toMatchObject({ ...input, [name]: '[hidden]' });
    const done = await decide(box, operation, told, { decision: 'approve' }, ann);
    expect([codeOf(done.results[0]), done.text]).toEqual([undefined, 'Done.']);
    expect(JSON.stringify([told.events, done.events])).not.toContain(VALUE);
    const places = await readAll(box, operation);
    expect(Object.keys(places).length).toBeGreaterThan(10);
    expect(places.run).toContain('studio-copilot');
    expect(places.messages).toContain('[hidden]');
    expect(leaksOf(places)).toEqual([]);
    expect(operation === 'provider.set' ? VALUE : await readStored(box, await as('owner'))).toBe(VALUE);
  });

  test.each<[string, ToolUse]>([
    [
      'beside the input',
      { tool: 'call_write_operation', args: { operation: 'secrets.set', name: 'BANK', value: VALUE } },
    ],
    [
      'as a member there is not',
      { tool: 'call_write_operation', args: { operation: 'secrets.set', input: { name: 'BANK', secret: VALUE } } },
    ],
    [
      'in a text of JSON',
      { tool: 'call_write_operation', args: { operation: 'secrets.set', input: JSON.stringify({ value: VALUE }) } },
    ],
    [
      'for an operation there is not',
      { tool: 'call_write_operation', args: { operation: 'secret.set', input: { name: 'BANK', value: VALUE } } },
    ],
    [
      'to the tool that reads',
      { tool: 'call_read_operation', args: { operation: 'secrets.set', input: { name: 'BANK', value: VALUE } } },
    ],
    [
      'with a state of its own',
      {
        tool: 'confirm_operation',
        args: { operation: 'secrets.set', input: { name: 'BANK', value: VALUE }, requestState: 'v1.a.b' },
      },
    ],
  ])('is read nowhere where the model writes it %s', async (title, used) => {
    const box = await deployed();
    const ann = await as('owner', 'ann');
    model.play = inTurn([used], () => 'Done.');
    const told = await talk(box, title, { text: 'Keep it.', headers: ann });
    const more = told.interrupts.length > 0 ? await decide(box, title, told, { decision: 'approve' }, ann) : told;
    expect(JSON.stringify([told.events, more.events])).not.toContain(VALUE);
    expect(leaksOf(await readAll(box, title))).toEqual([]);
  });

  test('is read nowhere where the person types it into the form, and is what is set', async () => {
    const box = await deployed();
    const ann = await as('owner', 'ann');
    model.play = inTurn(write('secrets.set', { name: bank, value: 'a guess of the model' }), next, next, next);
    const told = await talk(box, 'typed', { text: 'Keep it.', headers: ann });
    const asked = argumentsOf(told);
    const edited = { decision: 'edit', input: { ...asked, input: { ...asked.input, value: VALUE } } };
    const again = await decide(box, 'typed', told, edited, ann);
    expect(outcomeOf(again)).toEqual(['confirmation_required', 'other_call', 1]);
    const done = await decide(box, 'typed', again, { decision: 'approve' }, ann);
    expect(done.results[0]).toMatchObject({ name: bank });
    expect(await readStored(box, await as('owner'))).toBe(VALUE);
    expect(JSON.stringify([again.events, done.events])).not.toContain(VALUE);
    expect(leaksOf(await readAll(box, 'typed'))).toEqual([]);
  });

  test('serves no other call: what was sealed for one is of no use to the next', async () => {
    const box = await open();
    await askToSet(box, 'first');
    const { body } = await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?name=studio-copilot');
    const exported = await (await box.request(`/api/runs/${body.items[0]?.runId}/export`)).text();
    const [, sealed = ''] = /\\"sealed\\":\\"(v1\.[\w.-]+)/.exec(exported.replaceAll('\\\\', '\\')) ?? [];
    expect(sealed).toMatch(/^v1\./);
    for (const input of [
      { name: bank, value: '[hidden]' },
      { name: 'OTHER', value: '[hidden]' },
    ]) {
      model.play = inTurn(use('call_write_operation', { operation: 'secrets.set', input, sealed }), () => 'Over.');
      const told = await talk(box, `of ${input.name}`, { text: 'And this.' });
      expect(told.results[0]).toMatchObject({ code: 'invalid_request', details: { param: 'value' } });
    }
  });

  test('is not hidden in a change that no person is asked about', async () => {
    const box = await open();
    const input = { ownerKind: 'agent', ownerName: 'studio-copilot', key: 'shown', name: 'Shown', text: 'Be brief.' };
    model.play = inTurn(write('prompts.create', input), () => 'Over.');
    const told = await talk(box, 'shown', { text: 'Write it.' });
    expect(JSON.stringify(told.events)).toContain('Be brief.');
    await call(box, `DELETE /api/prompts/${String(told.results[0]?.id)}`);
  });
});

describe('a confirmation of a secret', () => {
  test('that comes after 90 seconds is asked about again, with the value', async () => {
    let skew = 0;
    const start = Date.now();
    const box = await open({ engine: { clock: { now: () => start + skew, sync: async () => {} } } });
    const told = await askToSet(box, 'late');
    skew = 90_000;
    const again = await decide(box, 'late', told, { decision: 'approve' });
    expect(outcomeOf(again)).toEqual(['confirmation_required', 'expired', 1]);
    const done = await decide(box, 'late', again, { decision: 'approve' });
    expect(done.results[0]).toMatchObject({ name: bank });
    expect(await readStored(box)).toBe(VALUE);
  });

  test('that comes after a restart has to be asked with the value again, and says so', async () => {
    const first = await open();
    const told = await askToSet(first, 'restarted');
    const box = await first.restart();
    const again = await decide(box, 'restarted', told, { decision: 'approve' });
    expect(again.results[0]).toMatchObject({
      code: 'confirmation_required',
      message: expect.stringMatching(/restarted.*"value" of "secrets\.set" is not kept\. Call it again/),
      details: {
        reason: 'unknown',
        missing: ['value'],
        call: { operation: 'secrets.set', input: { name: bank, value: '[hidden]' } },
      },
    });
    expect([again.results.length, codeOf(again.results[1]), again.interrupts.length]).toEqual([
      2,
      'confirmation_required',
      1,
    ]);
    const done = await decide(box, 'restarted', again, { decision: 'approve' });
    expect(done.results[0]).toMatchObject({ name: bank });
    expect(await readStored(box)).toBe(VALUE);
  });

  test('of which another member is changed is asked about again, with the value', async () => {
    const box = await open();
    const told = await askToSet(box, 'renamed');
    const asked = argumentsOf(told);
    const edited = { decision: 'edit', input: { ...asked, input: { ...asked.input, name: `${bank}_2` } } };
    const again = await decide(box, 'renamed', told, edited);
    expect(outcomeOf(again)).toEqual(['confirmation_required', 'other_call', 1]);
    expect(again.results[0]).toMatchObject({ details: { call: { input: { name: `${bank}_2`, value: '[hidden]' } } } });
    const done = await decide(box, 'renamed', again, { decision: 'approve' });
    expect(done.results[0]).toMatchObject({ name: `${bank}_2` });
  });

  test('that was used before is asked about again, with the value', async () => {
    const box = await open();
    const told = await askToSet(box, 'used');
    const args = argumentsOf(told);
    await decide(box, 'used', told, { decision: 'approve' });
    model.play = inTurn(use('confirm_operation', args), () => 'Over.');
    const second = await talk(box, 'used again', { text: 'Once more.' });
    const again = await decide(box, 'used again', second, { decision: 'approve' });
    expect(again.results[0]).toMatchObject({ details: { reason: 'used' }, requestState: expect.any(String) });
  });
});
