import { BoxError } from '../../errors.ts';
import type { TurnInput } from './input.ts';

type Parameters = TurnInput['parameters'];

/** The tools a `tool_choice` names. Throws `invalid_request` for one that is none. */
export function namesInChoice({ tool_choice: choice }: Parameters): string[] {
  if (choice === undefined || choice === null || WORDS.has(choice)) return [];
  const { type, function: called, allowed_tools: allowed } = choice as NamedChoice;
  const chosen = type === 'allowed_tools' ? allowed?.tools : [{ type, function: called }];
  const names = Array.isArray(chosen) ? chosen.map((tool) => tool?.function?.name) : [];
  if (names.length > 0 && names.every((name) => typeof name === 'string')) return names;
  throw invalid('"tool_choice" must be "auto", "none", "required" or {type: "function", function: {name}}.');
}

/** Throws `invalid_request` when a tool is chosen that the turn has not. */
export function requireChosenTools(chosen: readonly string[], names: readonly string[]): void {
  const missing = chosen.find((name) => !names.includes(name));
  if (missing === undefined) return;
  throw invalid(`"tool_choice" names "${missing}". Tools of this turn: ${names.join(', ') || 'none'}.`);
}

/** A call that is asked for is asked for once: forced again after its result, the model would call for ever. */
export function withoutForcedCall({ tool_choice: choice, ...parameters }: Parameters): Parameters {
  if (choice === 'none') return { ...parameters, tool_choice: choice };
  const { type, allowed_tools: allowed } = (choice ?? {}) as NamedChoice;
  if (type !== 'allowed_tools') return parameters;
  return { ...parameters, tool_choice: { type, allowed_tools: { ...allowed, mode: 'auto' } } };
}

// --- internal ---

const WORDS: ReadonlySet<unknown> = new Set(['auto', 'none', 'required']);

interface NamedChoice {
  type?: unknown;
  function?: { name?: string };
  allowed_tools?: { mode?: unknown; tools?: ({ function?: { name?: string } } | null)[] };
}

function invalid(message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param: 'tool_choice' } });
}
