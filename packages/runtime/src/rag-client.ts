import { currentContext } from './engine/context.ts';
import type { EngineContext, StepContext } from './engine/context.ts';
import { isStoreDown, persist } from './engine/persist.ts';
import { ONCE } from './engine/primitives/step.ts';
import type {
  RagAdded,
  RagAddedFile,
  RagCalls,
  RagDocument,
  RagFile,
  RagHit,
  RagSearchOptions,
} from './engine/rag-calls.ts';
import { encode } from './engine/serialize.ts';

// Collections of the box, as code in a run reaches them.

export function searchKnowledge(collection: string, query: string, options?: RagSearchOptions): Promise<RagHit[]> {
  const call = { member: 'search', collection, input: { collection, query, ...options } };
  return recorded(call, (rag) => rag.search(collection, query, options));
}

export function addKnowledge(collection: string, document: RagDocument): Promise<RagAdded> {
  const call = { member: 'add', collection, input: { collection, ...document } };
  return recorded(call, (rag) => rag.add(collection, document));
}

export function addKnowledgeFile(collection: string, file: RagFile): Promise<RagAddedFile> {
  // The record of a body has what was added, and not its bytes: these were recorded where they came from.
  const { content, ...named } = file;
  const call = { member: 'addFile', collection, input: { collection, ...named, bytes: content?.byteLength } };
  return recorded(call, (rag) => rag.addFile(collection, file));
}

export function deleteKnowledge(collection: string, id: string): Promise<boolean> {
  const call = { member: 'delete', collection, input: { collection, id } };
  return recorded(call, (rag) => rag.delete(collection, id));
}

// --- internal ---

/** How long a body waits for the store to come back. */
const STORE_MS = 30_000;

interface Call {
  member: string;
  collection: string;
  input: object;
}

/** In a step, what there is at that moment; in a body, one recorded call. */
async function recorded<T>({ member, collection, input }: Call, use: (rag: RagCalls) => Promise<T>): Promise<T> {
  const context = currentContext();
  if (!context) throw new Error(`svc.rag.${member}() works in a workflow, a step or a tool.`);
  if (context.kind === 'step') return use(ragOf(context, true));
  refuseInTurn(context, member);
  const name = `rag ${member} ${collection}`;
  const run = () => persist(() => use(ragOf(currentContext() as StepContext, false)), STORE_MS, isStoreDown);
  const action = { type: 'run', name, policy: ONCE, run } as const;
  return context.execution.invoke({ kind: 'step', stepId: name, input: encode(input, name), action }) as Promise<T>;
}

/** What a query asks of a model is counted for the step: as a part of it, where it does more. */
function ragOf(step: StepContext, isPart: boolean): RagCalls {
  const { execution, signal, call, attempt, stepName } = step;
  const part = isPart ? { part: { call, attempt, stepName } } : {};
  return execution.ambient.rag({ run: execution.run, signal, spend: (tokens) => step.spend(tokens), ...part });
}

/** The calls of a turn's body are its conversation. */
function refuseInTurn({ execution }: EngineContext, member: string): void {
  if (execution.run.kind !== 'agent') return;
  throw new Error(`svc.rag.${member}() works in the tools of an agent, not in what its definition computes of a turn.`);
}
