import { useState } from 'react';
import type { AgentInterrupt } from '@svc/runtime/client';
import type { PauseDecision } from './pause-card.tsx';
import type { ResumeEntry } from './read-run.ts';

export interface Pauses {
  chosenOf(id: string): PauseDecision | undefined;
  choose(id: string, decision: PauseDecision): void;
}

/** What is decided about calls that wait together: the box takes all of it at once. */
export function usePauses(
  interrupts: readonly AgentInterrupt[],
  decide: (entries: ResumeEntry[]) => Promise<void>,
): Pauses {
  const [chosen, setChosen] = useState<Readonly<Record<string, PauseDecision>>>({});
  return {
    chosenOf: (id) => chosen[id],
    choose(id, decision) {
      const all = { ...chosen, [id]: decision };
      const entries = interrupts.flatMap((one): ResumeEntry[] => {
        const payload = all[one.id];
        return payload ? [{ interruptId: one.id, status: 'resolved', payload }] : [];
      });
      // One alone is not waited for: what was typed stays, should it be refused.
      if (interrupts.length > 1) setChosen(all);
      if (entries.length === interrupts.length) void decide(entries).finally(() => setChosen({}));
    },
  };
}
