import type { AguiEvent } from './event.ts';

/** What a stream has begun and not ended. */
export interface OpenEvents {
  /** Answers `first`. `end` makes the events that end it. */
  begin(key: string, first: AguiEvent[], end: () => AguiEvent[]): AguiEvent[];
  /** None when it is not open. */
  end(key: string): AguiEvent[];
  /** The last one begun is ended first. */
  endAll(): AguiEvent[];
}

export function createOpenEvents(): OpenEvents {
  const open = new Map<string, () => AguiEvent[]>();
  const end = (key: string): AguiEvent[] => {
    const ending = open.get(key);
    open.delete(key);
    return ending?.() ?? [];
  };
  return {
    begin(key, first, ending) {
      open.set(key, ending);
      return first;
    },
    end,
    endAll: () => Array.from(open.keys()).reverse().flatMap(end),
  };
}
