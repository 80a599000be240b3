import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Search = Record<string, string | undefined>;

/**
 * The state of a screen, which is that of the address: filters, the open item, the tab. A change that a person would go back
 * from is `push`ed; another replaces the address.
 */
export function useSearchState(): [Search, (change: Search, how?: 'push' | 'replace') => void] {
  const search = useRouterState({ select: ({ location }) => location.search as Search });
  const navigate = useNavigate();
  const change = useCallback(
    (next: Search, how: 'push' | 'replace' = 'replace') =>
      void navigate({
        to: '.',
        search: ((before: Search) => ({ ...before, ...next })) as never,
        replace: how === 'replace',
        resetScroll: false,
      }),
    [navigate],
  );
  return [search, change];
}

/** The parameters of the path of this screen. */
export function usePathParams(): Record<string, string> {
  return useRouterState({ select: ({ matches }) => (matches.at(-1)?.params ?? {}) as Record<string, string> });
}
