export interface Query {
  text: string;
  params: unknown[];
  /** The text is one of few. A prepared statement over arrays would soon get a plan that is good for no batch. */
  prepared: boolean;
}

/** The store's clock, in milliseconds. */
export const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::int8';

/** What a signal changes. `run`: the row's name with its dot. */
export function signalSets(run: string, count: string, now: string): string {
  return `
    signals = ${run}signals + ${count},
    wake_at = case when ${run}status = 'waiting' then ${now} else ${run}wake_at end`;
}

/**
 * Whether a hook, already narrowed down to a run, is open. Written so that the planner cannot choose the index of
 * all open hooks: without statistics of the table it would walk through it.
 */
export const IS_OPEN_OF_RUN = 'is_open + 0 = 1';
