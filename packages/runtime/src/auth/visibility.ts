import { ASKED_BY, askedByOf } from '../engine/box-marks.ts';
import type { RunFilter } from '../engine/journal/reading.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { may } from './caller.ts';
import type { Caller } from './caller.ts';

/** What a caller is not shown: runs of the copilot that another person has asked for. Undefined: nothing is kept from it. */
export type Hidden = RunFilter['hidden'];

export function hiddenFrom(caller: Caller): Hidden {
  return may(caller, 'copilot:read_all') ? undefined : { mark: ASKED_BY, unless: caller.id };
}

export function isHidden(run: Pick<RunRow, 'attributes'>, hidden: Hidden): boolean {
  return hidden !== undefined && isKept(askedByOf(run), hidden);
}

/** Of what carries its asker beside it: whether that is another person. */
export function isKept(askedBy: string | undefined, hidden: Hidden): boolean {
  return hidden !== undefined && askedBy !== undefined && askedBy !== hidden.unless;
}
