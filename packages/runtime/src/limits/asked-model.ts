import type { JournalRecord } from '../engine/journal/record.ts';
import { decode } from '../engine/serialize.ts';

/** The model a record asked first. A summary, and a call of `svc.ai`, is recorded under the name of its step. */
export function modelOf({ stepId, input, output }: JournalRecord): string {
  if (!NAMED.has(stepId)) return stepId;
  const { asked } = (read(output) as { asked?: string } | undefined) ?? {};
  return asked ?? (read(input) as { model?: string } | undefined)?.model ?? stepId;
}

/** The model that answered: of those to fall back on, one the others led to. */
export function answeringModel(record: JournalRecord): string {
  // A reply may be long, and has seldom come of another model.
  const fallback = record.output?.includes('fallback')
    ? (read(record.output) as { fallback?: string }).fallback
    : undefined;
  return fallback ?? modelOf(record);
}

/** Undefined: there is none, or it cannot be read. */
export function read(text: string | null): unknown {
  try {
    return text === null ? undefined : decode(text);
  } catch {
    return undefined;
  }
}

// --- internal ---

const NAMED = new Set(['compact', 'ai.chat', 'ai.embed']);
