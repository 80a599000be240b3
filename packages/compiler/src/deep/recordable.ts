import type { Node, Type } from 'ts-morph';

/** What of a value no journal can keep. */
export interface Unrecordable {
  /** From the value: `.user.socket`, `[]`; empty: the value itself. */
  path: string;
  /** A clause: `it is a function`. */
  reason: string;
}

/**
 * The first part of a type the journal refuses; undefined: a value of it can be recorded, or nothing is known of it (`any`,
 * `unknown`, a type parameter). The rules are those of the engine (`engine/serialize.ts`). `at`: where the type is used.
 */
export function findUnrecordable(type: Type, at: Node): Unrecordable | undefined {
  return visit(type, { at, path: '', seen: new Set() });
}

// --- internal ---

interface Visit {
  at: Node;
  path: string;
  seen: Set<unknown>;
}

function visit(type: Type, { at, path, seen }: Visit): Unrecordable | undefined {
  if (seen.has(type.compilerType) || path.length > LONGEST_PATH) return undefined;
  const below = { at, path, seen: new Set([...seen, type.compilerType]) };
  if (isSymbol(type)) return { path, reason: 'it is a symbol' };
  if (type.isUnion()) return first(type.getUnionTypes(), (one) => visit(one, below));
  if (!isObject(type)) return undefined;
  if (type.getCallSignatures().length > 0) return { path, reason: 'it is a function' };
  if (type.getConstructSignatures().length > 0) return { path, reason: 'it is a class' };
  if (type.isArray() || type.isTuple() || type.isReadonlyArray()) return visitParts(type, '[]', below);
  const name = type.getSymbol()?.getName() ?? '';
  if (isOfLibrary(type)) {
    if (COLLECTIONS.has(name)) return visitParts(type, '', below);
    if (KEPT.has(name)) return undefined;
    if (name === 'Promise') return { path, reason: 'it is a promise; await it first' };
  }
  if (isInstance(type)) return visitInstance(type, path);
  return visitMembers(type, below);
}

function visitParts(type: Type, step: string, { at, path, seen }: Visit): Unrecordable | undefined {
  const parts = type.isTuple() ? type.getTupleElements() : type.getTypeArguments();
  return first(parts, (part) => visit(part, { at, path: path + step, seen }));
}

function visitMembers(type: Type, { at, path, seen }: Visit): Unrecordable | undefined {
  const index = type.getStringIndexType() ?? type.getNumberIndexType();
  const found = index && visit(index, { at, path: `${path}[]`, seen });
  return (
    found ??
    first(type.getProperties(), (property) => {
      const name = property.getName();
      // A key that is a symbol is a brand, which is in no value.
      if (name.startsWith('__@')) return undefined;
      return visit(property.getTypeAtLocation(at), { at, path: `${path}.${name}`, seen });
    })
  );
}

function visitInstance(type: Type, path: string): Unrecordable | undefined {
  if (isError(type) || saysHow(type)) return undefined;
  const name = type.getSymbol()?.getName() ?? 'class';
  const reason = `it is an instance of ${name}, which has no static [WORKFLOW_SERIALIZE] and [WORKFLOW_DESERIALIZE]`;
  return { path, reason };
}

/** Longer than what a person would read. */
const LONGEST_PATH = 200;

/** The journal keeps these whole. */
const KEPT = new Set(
  [
    'Date RegExp URL URLSearchParams Number String Boolean BigInt',
    'ArrayBuffer DataView Buffer Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array',
    'Float32Array Float64Array BigInt64Array BigUint64Array',
    'Headers FormData Request Response ReadableStream WritableStream',
  ].flatMap((names) => names.split(' ')),
);
const COLLECTIONS = new Set(['Map', 'Set', 'ReadonlyMap', 'ReadonlySet']);

function isSymbol(type: Type): boolean {
  return /^(?:unique )?symbol$/.test(type.getText());
}

/** With members to look at; a branded text or number is an intersection that is none. */
function isObject(type: Type): boolean {
  if (type.isIntersection()) return type.getIntersectionTypes().every((one) => one.isObject());
  return type.isObject();
}

/** Declared by TypeScript's own libraries or by Node's. */
function isOfLibrary(type: Type): boolean {
  const declarations = type.getSymbol()?.getDeclarations() ?? [];
  return declarations.some((one) =>
    /\/(?:typescript\/lib|@types\/node|buffer)\//.test(one.getSourceFile().getFilePath()),
  );
}

/** Of a class, or of what is declared as an interface and a variable of that name that makes it. */
function isInstance(type: Type): boolean {
  const symbol = type.getSymbol();
  if (type.isClass()) return true;
  const value = symbol?.getValueDeclaration();
  return value !== undefined && type.isInterface() && value.getType().getConstructSignatures().length > 0;
}

function isError(type: Type): boolean {
  const named = [type, ...type.getBaseTypes()].some((one) => one.getSymbol()?.getName().endsWith('Error'));
  return named && ['name', 'message'].every((name) => type.getProperty(name) !== undefined);
}

/** Whether the class says how its instances are recorded. */
function saysHow(type: Type): boolean {
  const declarations = type.getSymbol()?.getDeclarations() ?? [];
  return declarations.some((one) => /WORKFLOW_SERIALIZE|workflow-serialize/.test(one.getText()));
}

function first<T>(all: readonly T[], find: (one: T) => Unrecordable | undefined): Unrecordable | undefined {
  for (const one of all) {
    const found = find(one);
    if (found) return found;
  }
  return undefined;
}
