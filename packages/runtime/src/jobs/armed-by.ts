import { isSameCaller } from '../engine/started-by.ts';
import type { StartedBy } from '../engine/started-by.ts';

type Callers = NonNullable<StartedBy['armedBy']>;

/** Those who have armed a timer over MCP, each once, as it is kept. */
export function toArmedBy(callers: Callers): string | null {
  const each = callers.filter((one, at) => callers.findIndex((other) => isSameCaller(one, other)) === at);
  return each.length === 0 ? null : JSON.stringify(each);
}

/** As it was kept. */
export function readArmedBy({ armedBy }: { armedBy: string | null }): Callers {
  return armedBy === null ? [] : (JSON.parse(armedBy) as Callers);
}
