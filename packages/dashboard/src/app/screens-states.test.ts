import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import type { Query } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createSession } from '../api/session.ts';
import type { Bootstrap } from './bootstrap.ts';
import { Box } from './box.ts';
import type { BoxContext } from './box.ts';
import { SCREENS } from './screens.ts';
import type { Screen } from './screens.ts';

/** As the client of the box throws it. */
const REFUSAL = Object.assign(new Error('The box is short of memory.'), { code: 'overloaded', requestId: 'req-1' });

describe('every screen', () => {
  beforeAll(() => {
    const storage = { getItem: () => null, setItem: () => {}, removeItem: () => {} };
    vi.stubGlobal('localStorage', storage);
    vi.stubGlobal('sessionStorage', storage);
    vi.stubGlobal('location', new URL('http://box.test/studio/'));
  });

  // What a log has is read by its stream, and not by a question.
  test.each(SCREENS.filter(({ id }) => id !== 'logs').map((screen) => [screen.id, screen] as const))(
    '%s says that it loads, and what it is refused for, with the code and a way on',
    async (_, screen) => {
      const draw = await openScreen(screen);
      expect(draw()).toMatch(/role="status" aria-label="Loading"/);
      const refused = draw((query) => query.setState({ status: 'error', error: REFUSAL, fetchStatus: 'idle' }));
      const alert = /<div role="alert".*?<\/button>/s.exec(refused)?.[0] ?? refused;
      for (const text of [REFUSAL.message, '<code>overloaded</code>', 'req-1', 'Try again'])
        expect(alert).toContain(text);
      expect(refused).not.toContain('aria-label="Loading"');
    },
  );

  test.each([
    ['runs', 'Nothing has run yet', 'svc workflows start <name>'],
    ['approvals', 'Nothing waits for you', 'requestApproval()'],
    ['sessions', 'There is no session', 'Say something in the Playground'],
    ['memory', 'Nothing is remembered', 'memory: true'],
    ['workflows', 'This workspace has no workflow yet', 'workflows/<name>.workflow.ts'],
    ['jobs', 'There is no timer here', 'svc.schedules.create'],
    ['prompts', 'There is no prompt here', 'svc.prompts.get'],
    ['knowledge', 'There is no collection yet', 'svc.rag'],
    ['guardrails', 'There is no rule yet', 'A rule looks at'],
    ['evals', 'There is no suite yet', 'svc pull run <id> --promote eval'],
    ['catalog', 'Nothing of that kind is here', 'svc add'],
    ['config', 'The workspace declares no config', 'config.schema.ts'],
    ['secrets', 'There is no secret yet', 'svc.secrets.get'],
    ['connections', 'Nothing is connected yet', 'svc.connection'],
    ['triggers', 'There is no trigger yet', 'A trigger starts'],
    ['keys', 'There is no API key yet', 'granted'],
    ['notify', 'Nobody is notified', 'svc.config.ts'],
    ['activity', 'Nothing was changed yet', 'listed here'],
  ])('%s says what it has nothing of, and what to do', async (id, title, way) => {
    const draw = await openScreen(SCREENS.find((screen) => screen.id === id) as Screen);
    const html = draw((query) => {
      const none = { items: [], nextCursor: null };
      const data = query.queryKey[2] === 'list' ? { pages: [none], pageParams: [undefined] } : none;
      query.setState({ status: 'success', data, fetchStatus: 'idle', dataUpdatedAt: Date.now() });
    });
    const shown = html
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>');
    expect(shown.split(title)[1]).toContain(way);
  });
});

/** A screen without the frame around it, whose box answers nothing: what `of` does to each of its questions is its answer. */
async function openScreen(screen: Screen): Promise<(of?: (query: Query) => void) => string> {
  const { default: component } = await screen.load();
  const root = createRootRoute();
  const route = createRoute({ getParentRoute: () => root, path: screen.path, component: component as never });
  const router = createRouter({
    routeTree: root.addChildren([route]),
    history: createMemoryHistory({ initialEntries: [screen.path.replace(/\$\w+/, 'one')] }),
  });
  await router.load();
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false, retryOnMount: false } } });
  const bootstrap: Bootstrap = {
    place: screen.places?.[0] ?? 'dev',
    box: '',
    name: 'shop',
    organization: 'org',
    caller: { id: 'ada', name: 'Ada', role: 'owner' },
  };
  const silent = { on: () => () => {}, onState: () => () => {}, start: () => () => {}, state: () => 'open' as const };
  const never = () => new Promise<never>(() => {});
  const box = { bootstrap, fetch: never, client: { call: never }, events: silent, session: createSession() };
  const page = createElement(
    Box,
    { value: box as unknown as BoxContext },
    createElement(QueryClientProvider, { client: queries }, createElement(RouterProvider, { router: router as never })),
  );
  return (of) => {
    const answered = new Set<string>();
    // What is answered may lead to another question.
    for (;;) {
      const html = renderToStaticMarkup(page);
      const open = queries
        .getQueryCache()
        .getAll()
        .filter(({ queryHash }) => !answered.has(queryHash));
      if (!of || open.length === 0) return html;
      for (const query of open) {
        of(query);
        answered.add(query.queryHash);
      }
    }
  };
}
