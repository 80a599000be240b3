import { expect, test } from 'vitest';
import { toPointer } from './pointer.ts';

const at = (screen: string, params: Record<string, string> = {}, search: Record<string, string> = {}) =>
  toPointer({ screen, params, search }, { place: 'dev', role: 'owner' });

test('names what is open, by the screen it is open on', () => {
  expect(at('run', { id: 'r1' })).toMatchObject({ screen: 'run', title: 'Run', runId: 'r1' });
  expect(at('session', { id: 's1' })).toMatchObject({ screen: 'session', sessionId: 's1' });
  expect(at('playground', {}, { agent: 'helper', session: 's2' })).toMatchObject({
    agentName: 'helper',
    sessionId: 's2',
  });
  expect(at('catalog', {}, { open: 'agent/helper' })).toMatchObject({ agentName: 'helper' });
  expect(at('database', {}, { table: 'public.notes' })).toMatchObject({ table: 'public.notes', tag: 'database' });
});

test('has nothing of what is not open, or is longer than any id', () => {
  expect(Object.keys(at('catalog', {}, { open: 'workflow/echo' }))).not.toContain('agentName');
  expect(Object.keys(at('runs', {}, { table: 'public.notes' }))).not.toContain('table');
  expect(Object.keys(at('run', { id: 'x'.repeat(101) }))).not.toContain('runId');
});

test('lists the screens that the role may open', () => {
  expect(at('runs').screens).toContain('secrets');
  const { screens } = toPointer({ screen: 'runs', params: {}, search: {} }, { place: 'dev', role: 'viewer' });
  expect(screens).toContain('runs');
  expect(screens).not.toContain('secrets');
  expect(screens).not.toContain('members');
});
