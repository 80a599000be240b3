import type { JournalRecord } from '../engine/journal/record.ts';
import { decode } from '../engine/serialize.ts';

/** What the record of a tool says. */
export interface ToolCallFacts {
  id: string | undefined;
  name: string;
  arguments: string | undefined;
  result: string | undefined;
  /** The tool answered that it failed. To the run that is an answer like others. */
  isError: boolean;
  /** The model asked for a tool there is none of: its name is made up. */
  isUnknown: boolean;
  /** What it answered was held, and this is what was decided about it: no other call of the tool. */
  isDecision: boolean;
}

export function readToolCall({ input, output, stepId }: JournalRecord): ToolCallFacts {
  const call = read(input) as { id?: string; arguments?: string } | undefined;
  const answer = read(output) as { content?: unknown; isError?: boolean; by?: string } | undefined;
  const name = stepId.replace(/^tool:/, '');
  const result = typeof answer?.content === 'string' ? answer.content : undefined;
  const isError = answer?.isError === true;
  return {
    id: call?.id,
    name,
    arguments: call?.arguments,
    result,
    isError,
    isDecision: answer?.by === 'decision',
    isUnknown: isError && (result?.startsWith(`There is no tool "${name}".`) ?? false),
  };
}

// --- internal ---

function read(text: string | null): unknown {
  try {
    return text === null ? undefined : decode(text);
  } catch {
    return undefined;
  }
}
