import type { AnyRouter } from '@tanstack/react-router';
import type { Seat } from '../app/screens.ts';
import type { ChatPage } from '../chat/create-chat.ts';
import { NAVIGATE, toPlace, toTool } from './navigate.ts';
import { toPointer } from './pointer.ts';

/** What the copilot knows of this page, and may do on it. */
export function createPage(router: Pick<AnyRouter, 'state' | 'navigate'>, seat: Seat): ChatPage {
  return {
    bring() {
      const { matches, location } = router.state;
      const last = matches.at(-1);
      const shown = { screen: last?.staticData.screen, params: last?.params ?? {}, search: location.search };
      return {
        tools: [toTool(seat)],
        context: [{ description: 'pointer', value: JSON.stringify(toPointer(shown as never, seat)) }],
      };
    },
    async run(name, args) {
      if (name !== NAVIGATE) return { refused: true, reason: `This page has no tool "${name}".` };
      const place = toPlace(args, seat);
      if ('refused' in place) return place;
      await router.navigate({ to: place.to, search: place.search } as never);
      return { ok: true, opened: place.title };
    },
  };
}
