import { isOfText } from '../../approvals/held-text.ts';
import { isOfCall } from '../../approvals/tool-approval.ts';
import type { Journal } from '../../engine/journal.ts';
import type { HookEntry, HookFilter } from '../../engine/journal/hooks.ts';
import { decode } from '../../engine/serialize.ts';
import type { Interrupt } from '../events/turn-events.ts';
import { toInterrupt, toTextInterrupt } from '../turn/interrupts.ts';
import type { KeptApproval } from '../turn/interrupts.ts';

/** `argsIn`: the run whose approval has the arguments of its call, which are too large for a list. */
export type Waiting = Interrupt & { argsIn?: string };

export interface ApprovalEntry {
  entry: HookEntry;
  interrupt: Waiting;
}

/** The approvals of turns, as interrupts. */
export interface WaitingCalls {
  /** Those of one run, oldest first, each of a size that is bounded. */
  listEntries(runId: string, filter?: Pick<HookFilter, 'isPending'>): Promise<ApprovalEntry[]>;
  /** With the arguments of calls that are too large for a list, one after the other. */
  withArguments(waits: readonly Waiting[]): Promise<Interrupt[]>;
}

export function createWaitingCalls({ hooks }: Pick<Journal, 'hooks'>): WaitingCalls {
  return {
    async listEntries(runId, filter = {}) {
      const entries = await hooks.listBriefEntries({ kind: 'approval', runId, ...filter }, { limit: 200 });
      return entries.reverse().flatMap((entry) => {
        const kept = readKept(entry);
        const { token } = entry.hook;
        if (isOfText(kept)) return { entry, interrupt: toTextInterrupt(token, kept) };
        if (!isOfCall(kept)) return [];
        const isCut = kept.cutPayload !== undefined;
        const call = isCut ? { ...kept, payload: NO_ARGUMENTS } : kept;
        return {
          entry,
          interrupt: { ...toInterrupt(token, call as KeptApproval), ...(isCut ? { argsIn: runId } : {}) },
        };
      });
    },

    async withArguments(waits) {
      const whole: Interrupt[] = [];
      for (const { argsIn: runId, ...interrupt } of waits) {
        const filter = { kind: 'approval', token: interrupt.id, ...(runId === undefined ? {} : { runId }) } as const;
        const [entry] = runId === undefined ? [] : await hooks.listEntries(filter, { limit: 1 });
        whole.push(entry ? { ...interrupt, args: (readKept(entry) as KeptApproval).payload.arguments } : interrupt);
      }
      return whole;
    },
  };
}

// --- internal ---

const NOTHING = '1[{}]';

const NO_ARGUMENTS = { tool: '', arguments: undefined };

function readKept({ hook }: HookEntry): { title: string; cutPayload?: string } {
  return decode(hook.detail ?? NOTHING) as { title: string };
}
