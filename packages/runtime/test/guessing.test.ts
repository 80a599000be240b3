import { expect, test } from 'vitest';
import { OWNER } from '../src/auth/caller.ts';
import type { Role } from '../src/auth/permissions.ts';
import type { Strategy } from '../src/auth/strategy.ts';
import { createMask } from '../src/mask.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { svc } from '../src/svc.ts';
import type { Recording } from '../src/runs/recording.ts';
import { call, setupBoxes, toStep, until } from './_setup.ts';

// Whoever starts a run with guesses must not read off a mask which of them is a secret of the box.

const boxes = setupBoxes();

const PIN = '483920';
const LONG = 'a-secret-that-nobody-guesses';
const secretKey = newMasterKey();

/** Whose role is in the credential. */
const strategy: Strategy = {
  name: 'roles',
  checksKeys: false,
  authenticate: async (role) => ({ ...OWNER, role: role as Role }),
};
const as = (role: Role) => ({ authorization: `Bearer ${role}` });

const useSecret = toStep('useSecret', async () => {
  throw Object.assign(new Error(`The door refused ${await svc.secrets.get('DOOR_PIN')}.`), { fatal: true });
});
const workflows = {
  echo: { run: async (input: unknown) => input },
  fails: { run: async ({ texts }: { texts: string[] }) => Promise.reject(new Error(`None is ${texts.join()}.`)) },
  leaks: { run: async () => useSecret() },
};

async function open() {
  const box = await boxes.open({
    workflows,
    options: {
      strategy,
      secretKey,
      mask: createMask({ DOOR_PASSWORD: PIN, SHOP_PASSWORD: LONG }),
      secretValues: async () => [PIN, LONG],
    },
  });
  await call(box, 'PUT /api/secrets/DOOR_PIN', { value: PIN }, as('owner'));
  const run = async (name: string, input: object) => {
    const started = await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, input, as('member'));
    await until(async () => (await box.journal.getRun(started.body.runId))?.endedAt != null);
    return started.body.runId;
  };
  const exported = async (runId: string, role: Role) => {
    const { body } = await call<Recording>(box, `GET /api/runs/${runId}/export`, undefined, as(role));
    return body;
  };
  const errorOf = async (runId: string, role: Role) =>
    (await call<{ error: { message: string } }>(box, `GET /api/runs/${runId}`, undefined, as(role))).body.error.message;
  return { run, exported, errorOf };
}

const texts = [PIN, '483921', LONG, 'another-text-of-that-length'];

test('an export does not tell a member which of its texts can be guessed to be a secret', async () => {
  const { run, exported } = await open();
  const runId = await run('echo', { texts });
  const shown = await exported(runId, 'member');
  expect(shown.run.input).toEqual({ json: { texts: [PIN, '483921', '__masked_1__', texts[3]] } });
  expect(shown.masked).toEqual(['run.input.json.texts[2]', 'run.output.json.texts[2]']);
  // Whoever may see which secrets there are has them hidden.
  const hidden = await exported(runId, 'admin');
  expect(hidden.run.input).toEqual({ json: { texts: ['__masked_1__', '483921', '__masked_2__', texts[3]] } });
});

test('nor does the error of a run', async () => {
  const { run, errorOf } = await open();
  const runId = await run('fails', { texts });
  for (const role of ['member', 'owner'] as const)
    expect(await errorOf(runId, role)).toBe(`None is ${PIN},483921,[hidden],${texts[3]}.`);
  const base64 = Buffer.from(`door:${PIN}99`).toString('base64');
  expect(await errorOf(await run('fails', { texts: [base64] }), 'member')).toBe(`None is ${base64}.`);
});

test('a secret that can be guessed is hidden in an error where no one has guessed it', async () => {
  const { run, errorOf, exported } = await open();
  const runId = await run('leaks', {});
  expect(await errorOf(runId, 'member')).toBe('The door refused [hidden].');
  expect(JSON.stringify(await exported(runId, 'member'))).not.toContain(PIN);
});
