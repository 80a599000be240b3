import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import type { Bootstrap } from './bootstrap.ts';
import { Missing, Refused } from './missing.tsx';
import { isOpenTo, isPlaced, SCREENS, toSeat } from './screens.ts';
import { Shell } from './shell.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/loading.tsx';
import { Page } from '../ui/page.tsx';

/** The screens of the table that the person may see; the others say what is missing. */
export function makeRouter(bootstrap: Bootstrap) {
  const seat = toSeat(bootstrap);
  const root = createRootRoute({ component: Shell, notFoundComponent: Missing });
  const screens = SCREENS.filter((screen) => isPlaced(screen, seat)).map((screen) =>
    createRoute({
      getParentRoute: () => root,
      path: screen.path,
      component: isOpenTo(screen, seat)
        ? lazyRouteComponent(screen.load)
        : () => <Refused title={screen.title} permission={screen.permission} />,
      staticData: { screen: screen.id },
    }),
  );
  const first = SCREENS.find((screen) => screen.group && isOpenTo(screen, seat));
  const hasRoot = SCREENS.some(({ path }) => path === '/');
  const start = createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: () => {
      if (first) throw redirect({ to: first.path, replace: true });
    },
  });
  return createRouter({
    routeTree: root.addChildren(hasRoot ? screens : [...screens, start]),
    basepath: import.meta.env.BASE_URL.replace(/\/$/, ''),
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: toQuery,
    defaultPreload: 'intent',
    defaultPendingComponent: Loading,
    defaultErrorComponent: ({ error, reset }) => (
      <Page title="This screen cannot be shown">
        <Failure error={error} onRetry={reset} />
      </Page>
    ),
    scrollRestoration: true,
  });
}

/** Loads the code of the screen at a path of the address; whether that failed is seen when it is shown. */
export function loadScreen(path: string): void {
  const parts = path.replace(import.meta.env.BASE_URL, '/').split('/');
  const screen = SCREENS.find((each) => {
    const own = each.path.split('/');
    return own.length === parts.length && own.every((part, at) => part.startsWith('$') || part === parts[at]);
  });
  screen?.load().catch(() => {});
}

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    screen?: string;
  }
}

// --- internal ---

/** What is empty is not in the address. */
function toQuery(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== '' && value !== null);
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}
