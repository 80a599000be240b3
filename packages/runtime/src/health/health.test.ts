import { expect, test } from 'vitest';
import { BoxError } from '../errors.ts';
import { createLog } from '../log.ts';
import { createHealth } from './health.ts';
import type { Probe } from './health.ts';

function open(probes: Record<string, Probe>) {
  const lines: string[] = [];
  const log = createLog({ level: 'warn', write: (line) => lines.push(line) });
  const services = () => ({ database: { url: null }, storage: null, agent: { url: '' } });
  return { health: createHealth({ host: 'image', slug: 'box', log, probes, services }), lines };
}

test('however many ask at the same time, each store is asked once, and again a second later', async () => {
  let asked = 0;
  const { health } = open({ database: async () => void (asked += 1) });
  const reports = await Promise.all(Array.from({ length: 100 }, () => health.check()));
  expect(new Set(reports.map(({ status }) => status))).toEqual(new Set(['ok']));
  expect((await health.check()).status).toBe('ok');
  expect(asked).toBe(1);
  await expect.poll(async () => (await health.check(), asked), { timeout: 10_000 }).toBe(2);
});

const failedAt = (code: string) =>
  Object.assign(new Error(`connect ${code} 10.1.2.3:5432`), { code, address: '10.1.2.3' });

test.each<[string, unknown, string]>([
  ['is away', new BoxError('store_unavailable', 'No.', { cause: failedAt('ECONNREFUSED') }), 'It cannot be reached.'],
  ['is away, as the network says', failedAt('ENOTFOUND'), 'It cannot be reached.'],
  [
    'refuses a password',
    Object.assign(new Error('password authentication failed for user "svc_10.1.2.3"'), { code: '28P01' }),
    'It refuses the credentials of the box.',
  ],
  [
    'is an object storage that refuses',
    new BoxError('storage_refused', 'bucket "10.1.2.3"', { details: { status: 404, code: 'NoSuchBucket' } }),
    'It refuses the box: 404 NoSuchBucket.',
  ],
  ['fails otherwise', new Error('10.1.2.3 is odd'), 'It does not work as it should. The log of the box says why.'],
  ['fails with no error', '10.1.2.3', 'It does not work as it should. The log of the box says why.'],
])('a store that %s is reported in few words, and in full in the log, once', async (_title, error, reason) => {
  const { health, lines } = open({ database: () => Promise.reject(error as Error) });
  expect(await health.check()).toEqual({ status: 'degraded', checks: { database: { status: 'failed', reason } } });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('10.1.2.3');
});
