import { expect, test } from 'vitest';
import { createLog } from '../log.ts';
import { createLiveTurns } from './live-turns.ts';
import type { LiveTurnsOptions } from './live-turns.ts';

const IDS = Array.from({ length: 800 }, (_, n) => `run-${n}`);
const run = (runId: string, more: object = {}) =>
  ({ runId, kind: 'agent', name: 'support', trigger: 'chat', status: 'completed', ...more }) as const;

function open(more: Partial<LiveTurnsOptions> = {}) {
  const begun: string[] = [];
  const lines: string[] = [];
  const turns = createLiveTurns({
    listSuites: async () => [suite('quarter', 0.25)],
    begin: async (suiteId, runId) => void begun.push(`${suiteId} ${runId}`),
    log: createLog({ level: 'info', write: (line) => void lines.push(line) }),
    isBlank: () => false,
    now: () => 0,
    ...more,
  });
  return { turns, begun, lines };
}
const suite = (id: string, share: number) => ({ id, online: { agent: 'support', share } });

test('a share of the turns is chosen: the same ones wherever it is asked, and others for another suite', async () => {
  const choose = async (id: string, share: number): Promise<string[]> => {
    const { turns, begun } = open({ listSuites: async () => [suite(id, share)] });
    for (const runId of IDS) turns.ended(run(runId));
    await settle();
    return begun.map((one) => one.slice(id.length + 1));
  };
  const quarter = await choose('a', 0.25);
  expect(quarter.length).toBeGreaterThan(IDS.length * 0.2);
  expect(quarter.length).toBeLessThan(IDS.length * 0.3);
  expect(await choose('a', 0.25)).toEqual(quarter);
  expect(await choose('b', 0.25)).not.toEqual(quarter);
  // Whoever is in a share is in each larger one.
  const half = await choose('a', 0.5);
  expect(half.length).toBeGreaterThan(quarter.length);
  expect(half).toEqual(expect.arrayContaining(quarter));
  expect(await choose('a', 1)).toEqual(IDS);
});

test('what is no completed turn of a client, or of another agent, is not scored', async () => {
  const { turns, begun } = open({ listSuites: async () => [suite('all', 1)] });
  for (const more of [{ kind: 'workflow' }, { trigger: 'schedule' }, { status: 'failed' }, { name: 'other' }] as const)
    turns.ended(run('other', more));
  turns.ended(run('one'));
  await settle();
  expect(begun).toEqual(['all one']);
});

test('a turn ends without waiting for the suites or for what scores it, and so many wait at most', async () => {
  let answer: (suites: ReturnType<typeof suite>[]) => void = () => {};
  const { turns, begun, lines } = open({ listSuites: () => new Promise((resolve) => (answer = resolve)) });
  for (let n = 0; n < 1_500; n += 1) expect(turns.ended(run(`run-${n}`))).toBeUndefined();
  await settle();
  expect(begun).toEqual([]);
  answer([suite('all', 1)]);
  await settle();
  // The first one has been taken out of the queue.
  expect(begun).toHaveLength(1_001);
  expect(lines.join('')).toContain('499 turns are not scored');
});

// --- internal ---

/** Long enough for all that does not wait for anything else. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
