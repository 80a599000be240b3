import { expect, test } from 'vitest';
import { SCREENS } from '../app/screens.ts';
import { toPlace } from './navigate.ts';

const asOwner = (screen: unknown, item?: unknown) =>
  toPlace({ screen, ...(item === undefined ? {} : { item }) }, { place: 'full', role: 'owner' });

test.each([
  ['runs', 'r/1', '/runs/r%2F1', {}],
  ['run', 'r1', '/runs/r1', {}],
  ['sessions', 's1', '/sessions/s1', {}],
  ['workflows', 'refund', '/workflows/refund', {}],
  ['prompts', 'p1', '/prompts/p1', {}],
  ['knowledge', 'faq', '/knowledge/faq', {}],
  ['connections', 'c1', '/connections/c1', {}],
  ['triggers', 't1', '/triggers/t1', {}],
  ['eval-suite', 'nightly', '/evals/suites/nightly', {}],
  ['eval-run', 'e1', '/evals/runs/e1', {}],
  ['approvals', 'a1', '/approvals', { open: 'a1' }],
  ['logs', 'r1', '/logs', { run: 'r1' }],
  ['playground', 'helper', '/playground', { agent: 'helper' }],
  ['jobs', 'report', '/jobs', { job: 'report' }],
  ['guardrails', 'g1', '/guardrails', { rule: 'g1' }],
  ['catalog', 'agent/helper', '/catalog', { open: 'agent/helper' }],
  ['database', 'public.notes', '/database', { table: 'public.notes' }],
  ['storage', 'a/b.txt', '/storage', { object: 'a/b.txt' }],
  ['config', 'limit', '/config', { key: 'limit' }],
  ['activity', 'x1', '/activity', { entry: 'x1' }],
])('"%s" opens "%s"', (screen, item, to, search) => {
  expect(asOwner(screen, item)).toEqual({ to, search, title: expect.any(String) });
});

test.each([
  ['secrets', 'BANK', 'Leave "item" out.'],
  ['evals', 'nightly', 'One is opened on eval-suite or eval-run.'],
  ['run', undefined, 'say which with "item"'],
  ['runs', '', '1 to 256 characters'],
  ['runs', 7, '1 to 256 characters'],
  ['runs', 'x'.repeat(257), '1 to 256 characters'],
  ['nowhere', undefined, 'There is no screen "nowhere". Open to them: overview,'],
  [undefined, undefined, 'There is no screen "undefined"'],
  ['https://elsewhere.example', undefined, 'There is no screen'],
  ['__proto__', undefined, 'There is no screen'],
])('"%s" with the item "%s" is refused, and it is said why', (screen, item, reason) => {
  expect(asOwner(screen, item)).toEqual({ refused: true, reason: expect.stringContaining(reason) });
});

test('every screen opens to an owner by itself, but those of one item', () => {
  const refused = SCREENS.filter(({ id }) => 'refused' in asOwner(id)).map(({ path }) => path);
  expect(refused).toEqual(SCREENS.map(({ path }) => path).filter((path) => path.includes('$')));
});

test('what a role may not open is refused by its permission, and what it may is listed', () => {
  for (const screen of ['secrets', 'keys', 'prompt']) {
    const { reason } = toPlace({ screen, item: 'p1' }, { place: 'dev', role: 'viewer' }) as { reason: string };
    expect(reason).toMatch(/ is not open to the role "viewer": it needs [a-z]+:[a-z]+\. Open to them: overview, runs,/);
    expect(reason.split('Open to them:')[1]).not.toMatch(/secrets|keys|prompt/);
  }
});

test('what is elsewhere alone is no screen here', () => {
  const at = (place: 'full' | 'standalone') => toPlace({ screen: 'members' }, { place, role: 'owner' });
  expect(at('full')).toMatchObject({ to: '/members' });
  expect(at('standalone')).toEqual({ refused: true, reason: expect.stringContaining('no screen "members"') });
});
