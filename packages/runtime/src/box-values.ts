import { currentContext } from './engine/context.ts';
import type { EngineContext } from './engine/context.ts';
import type { PromptAnswer, PromptOwner } from './engine/handle.ts';
import { isStoreDown, persist } from './engine/persist.ts';
import { encode } from './engine/serialize.ts';
import { ONCE } from './engine/primitives/step.ts';
import { renderPrompt } from './prompts/render.ts';
import type { PromptVariables } from './prompts/render.ts';

// What operators change while the box runs, as code in a run reads it.

export interface PromptOptions {
  /** Default: the agent or workflow that runs; where that has none, the workspace. */
  owner?: PromptOwner;
}

export function readPrompt(key: string, { owner }: PromptOptions = {}): Promise<PromptAnswer> {
  const read = ({ execution }: EngineContext) => execution.ambient.readPrompt(execution, { key, owner });
  return recorded({ caller: 'svc.prompts.get', name: `prompt ${key}`, input: { key, owner } }, read);
}

export async function renderPublished(
  key: string,
  variables: PromptVariables,
  options?: PromptOptions,
): Promise<string> {
  return renderPrompt((await readPrompt(key, options)).text, variables);
}

export function readConfig(key: string): Promise<unknown> {
  const read = ({ execution }: EngineContext) => execution.ambient.readConfig(key);
  return recorded({ caller: 'svc.config.get', name: `config ${key}`, input: { key } }, read);
}

// --- internal ---

/** How long a body waits for the store to come back. */
const STORE_MS = 30_000;

interface Reading {
  caller: string;
  name: string;
  input: unknown;
}

/** In a step, what there is at that moment; in a body, one recorded call. */
async function recorded<T>({ caller, name, input }: Reading, read: (context: EngineContext) => Promise<T>): Promise<T> {
  const context = currentContext();
  if (!context) throw new Error(`${caller}() works in a workflow, a step or a tool.`);
  if (context.kind === 'step') return read(context);
  const run = () => persist(() => read(context), STORE_MS, isStoreDown);
  const action = { type: 'run', name, policy: ONCE, run } as const;
  return context.execution.invoke({ kind: 'step', stepId: name, input: encode(input, name), action }) as Promise<T>;
}
