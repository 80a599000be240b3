import { currentRegistry, findKnown } from './current-registry.ts';

/** The names under which a class says how its instances are recorded; `@workflow/serde` has the same two. */
export const WORKFLOW_SERIALIZE: unique symbol = Symbol.for('workflow-serialize');
export const WORKFLOW_DESERIALIZE: unique symbol = Symbol.for('workflow-deserialize');

/** A class of an author that may cross the journal: both methods are static. */
export interface RecordableClass {
  [WORKFLOW_SERIALIZE](instance: never): unknown;
  [WORKFLOW_DESERIALIZE](data: never): unknown;
}

/** Makes a class known by a name that is the same in every process. Called by the code the compiler writes. */
export function registerClass(type: object, id: string): void {
  Object.defineProperty(type, CLASS, { value: id, configurable: true });
  currentRegistry().classes.set(id, type);
}

export interface RecordedInstance {
  id: string;
  data: unknown;
}

/** An instance as plain data; undefined: its own class does not say how. */
export function toRecorded(value: object): RecordedInstance | undefined {
  const { constructor: type } = value as { constructor?: unknown };
  if (typeof type !== 'function' || !Object.hasOwn(type, CLASS)) return undefined;
  const id = (type as unknown as Record<symbol, string>)[CLASS] as string;
  const known = type as unknown as Partial<RecordableClass>;
  return known[WORKFLOW_SERIALIZE] && { id, data: known[WORKFLOW_SERIALIZE](value as never) };
}

/** The inverse. Throws when the class is not in the workspace (any more). */
export function fromRecorded({ id, data }: RecordedInstance): unknown {
  const type = findKnown('classes', id) as Partial<RecordableClass> | undefined;
  if (!type?.[WORKFLOW_DESERIALIZE])
    throw new Error(
      `The journal holds an instance of the class "${id}", which is not loaded, or has no static [WORKFLOW_DESERIALIZE]. Bring the class back.`,
    );
  return type[WORKFLOW_DESERIALIZE](data as never);
}

// --- internal ---

const CLASS = Symbol.for('svc.engine.class');
