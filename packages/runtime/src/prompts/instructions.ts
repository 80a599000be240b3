import type { RunRow } from '../engine/journal/run.ts';
import type { PinnedVersion } from '../engine/box-marks.ts';
import type { Log } from '../log.ts';
import { findPinned } from './pinned.ts';
import type { Prompts } from './prompts.ts';
import { readInstructionsStamp, stampInstructions } from './stamp.ts';

/** What operators have published in place of the instructions in an agent's code. */
export interface PublishedInstructions {
  /**
   * For a turn that begins now: the text, and the marks its run has to begin with. Undefined: none is published.
   * @param agent as the run is named: a sub-agent is `<agent>/<name>`
   * @param pinned versions that stand for what is published
   */
  begin(
    agent: string,
    pinned?: readonly PinnedVersion[],
  ): Promise<{ text: string; attributes: Record<string, string> } | undefined>;
  /** For a turn that goes on: the version it began with, whatever is published now. Undefined: it began with none. */
  resume(run: Pick<RunRow, 'runId' | 'attributes'>): Promise<string | undefined>;
}

export function createPublishedInstructions(
  prompts: Pick<Prompts, 'findPublished' | 'findText'>,
  log: Log,
  /** Under which the instructions of an agent are kept. */
  keyOf: (agent: string) => string = () => 'instructions',
): PublishedInstructions {
  return {
    async begin(agent, pinned = []) {
      const key = { ownerKind: 'agent', ownerName: agent, key: keyOf(agent) } as const;
      const prompt = (await findPinned(prompts, pinned, key)) ?? (await prompts.findPublished(key));
      return prompt && { text: prompt.text, attributes: stampInstructions(prompt) };
    },
    async resume({ runId, attributes }) {
      const stamp = readInstructionsStamp(attributes);
      const text = stamp && (await prompts.findText(stamp.promptId, stamp.version));
      if (stamp && text === undefined)
        log.warn('The prompt a turn began with was deleted, so it goes on with the instructions of its code.', {
          runId,
          prompt: stamp.promptId,
        });
      return text;
    },
  };
}
