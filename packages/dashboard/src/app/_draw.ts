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
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { vi } from 'vitest';
import { createSession } from '../api/session.ts';
import type { Bootstrap } from './bootstrap.ts';
import { Box } from './box.ts';
import type { BoxContext } from './box.ts';
import { SCREENS } from './screens.ts';
import type { Screen } from './screens.ts';

/** As the client of the box throws it. */
export const REFUSAL = Object.assign(new Error('The box is short of memory.'), {
  code: 'overloaded',
  requestId: 'req-1',
});

/** What a browser has, and Node does not. */
export function stubBrowser(): void {
  const storage = { getItem: () => null, setItem: () => {}, removeItem: () => {} };
  vi.stubGlobal('localStorage', storage);
  vi.stubGlobal('sessionStorage', storage);
  vi.stubGlobal('location', new URL('http://box.test/studio/'));
}

export interface DrawOptions {
  /** The path with its parameters: `/runs/$id`. Default `/`. */
  path?: string;
  /** What follows it in the address: `?tab=queue`. Default nothing. */
  search?: string;
  place?: Bootstrap['place'];
}

/** HTML of the page. What `of` does to each question that it asks the box is its answer; without one there is none yet. */
export type Draw = (of?: (query: Query) => void) => string;

/** A screen by its id, without the frame around it. */
export async function openScreen(id: string, search = ''): Promise<Draw> {
  const screen = SCREENS.find((one) => one.id === id) as Screen;
  const { default: component } = await screen.load();
  return openPart(component as () => ReactNode, {
    path: screen.path,
    search,
    ...(screen.places?.[0] ? { place: screen.places[0] } : {}),
  });
}

/** A part of a page for an owner. */
export async function openPart(component: () => ReactNode, options: DrawOptions = {}): Promise<Draw> {
  const { path = '/', search = '', place = 'dev' } = options;
  const root = createRootRoute();
  const route = createRoute({ getParentRoute: () => root, path, component: component as never });
  const router = createRouter({
    routeTree: root.addChildren([route]),
    history: createMemoryHistory({ initialEntries: [path.replace(/\$\w+/, 'one') + search] }),
  });
  await router.load();
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false, retryOnMount: false } } });
  const caller = { id: 'ada', name: 'Ada', role: 'owner' } as const;
  const bootstrap: Bootstrap = { place, box: '', name: 'shop', organization: 'org', caller };
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

/** Answers a question of the box. */
export function answer(query: Query, data: unknown): void {
  const isList = query.queryKey[2] === 'list';
  query.setState({
    status: 'success',
    data: isList ? { pages: [data], pageParams: [undefined] } : data,
    fetchStatus: 'idle',
    dataUpdatedAt: Date.now(),
  });
}

export function refuse(query: Query, error: unknown = REFUSAL): void {
  query.setState({ status: 'error', error: error as Error, fetchStatus: 'idle' });
}

/** What a person reads. */
export function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>');
}
