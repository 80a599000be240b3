import { useNavigate, useRouter, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useRef } from 'react';
import type { RefObject } from 'react';

export type Search = Record<string, string | undefined>;

/**
 * How the address changes. `push`: a person would go back from it. `replace`: not. `back`: what was pushed is taken back, so
 * that no step is left in the history that does nothing; of a page that was opened at this address it is replaced.
 */
export type How = 'push' | 'replace' | 'back';

/** The state of a screen, which is that of the address: filters, the open item, the tab, the dialog. */
export function useSearchState(): [Search, (change: Search, how?: How) => void] {
  const search = useRouterState({ select: ({ location }) => location.search as Search });
  const router = useRouter();
  const navigate = useNavigate();
  const isHere = useIsHere();
  const isLeaving = useRef(false);
  // Until the browser has gone back.
  useEffect(() => {
    isLeaving.current = false;
  }, [search]);
  const change = useCallback(
    (next: Search, how: How = 'replace') => {
      const names = Object.keys(next);
      if (how === 'back') {
        const { search: now, state } = router.history.location;
        const given = new URLSearchParams(now);
        // It may be gone: by Back while something was under way, or as it was closed twice.
        if (!isHere.current || isLeaving.current || !names.some((name) => given.has(name))) return;
        isLeaving.current = true;
        const { pushed = [] } = state as Entry;
        if (pushed.length > 0 && pushed.every((name) => names.includes(name))) return router.history.back();
      }
      void navigate({
        to: '.',
        search: ((before: Search) => ({ ...before, ...next })) as never,
        replace: how !== 'push',
        state: ((before: Entry): Entry =>
          how === 'push'
            ? { pushed: names.filter((name) => next[name] !== undefined) }
            : how === 'back'
              ? {}
              : before) as never,
        resetScroll: false,
      });
    },
    [navigate, router, isHere],
  );
  return [search, change];
}

export interface Dialogs<Name extends string> {
  /** What each dialog that is open is about. */
  asked: Partial<Record<Name, string>>;
  /** Opens one. Default: about what the whole screen is about. */
  ask(name: Name, about?: string): void;
  close(): void;
}

/** The dialogs of a screen, each by its name in the address: `?delete=BANK`. Back closes one, and to close one is to go back. */
export function useDialogs<Name extends string>(...names: readonly Name[]): Dialogs<Name> {
  const [search, change] = useSearchState();
  const none = Object.fromEntries(names.map((name) => [name, undefined]));
  const open = names.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]] as const]));
  return {
    asked: Object.fromEntries(open) as Partial<Record<Name, string>>,
    ask: (name, about = '1') => change({ ...none, [name]: about }, 'push'),
    close: () => change(none, 'back'),
  };
}

/**
 * Goes on from a dialog to what it has made, in its place: back leads to where it was opened. Once the person has closed it
 * or gone elsewhere, it leads nowhere.
 */
export function useGoOn(): (to: string) => Promise<void> {
  const navigate = useNavigate();
  const isHere = useIsHere();
  return async (to) => {
    if (isHere.current) await navigate({ to: to as never, replace: true });
  };
}

/**
 * Goes from the screen of something that is gone to the one that lists what is left, in the place of all that was opened on the
 * way: back leads to where the screen was come from.
 */
export function useGoAway(): (to: string) => Promise<void> {
  const router = useRouter();
  const isHere = useIsHere();
  return async (to) => {
    if (!isHere.current) return;
    const { history } = router;
    // Each of its tabs and dialogs that was pushed stands on one of the same screen.
    while (((history.location.state as Entry).pushed ?? []).length > 0) await goBack(router);
    await router.navigate({ to: to as never, replace: true });
  };
}

/** The parameters of the path of this screen. */
export function usePathParams(): Record<string, string> {
  return useRouterState({ select: ({ matches }) => (matches.at(-1)?.params ?? {}) as Record<string, string> });
}

// --- internal ---

/** Until the browser has done it. */
function goBack({ history }: ReturnType<typeof useRouter>): Promise<void> {
  return new Promise((resolve) => {
    const stop = history.subscribe(() => {
      stop();
      resolve();
    });
    history.back();
  });
}

/** What an entry of the history is marked with: the parts of the address that were pushed with it. */
interface Entry {
  pushed?: readonly string[];
}

/** Whether the part of the page is there that asks. */
function useIsHere(): RefObject<boolean> {
  const isHere = useRef(false);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  return isHere;
}
