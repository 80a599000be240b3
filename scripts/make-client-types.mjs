// @ts-check
/**
 * Writes `packages/client/src/operations.ts`: what each operation of a box takes and answers, what its streams send, and the
 * events of a turn, as types that need nothing else. They are read from the sources of the runtime by the compiler; that both
 * say the same is part of `pnpm typecheck` (`packages/runtime/test/_client-types.ts`).
 *   node scripts/make-client-types.mjs
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './_tool.mjs';

const RUNTIME = join(ROOT, 'packages/runtime/src');
/** What is written: the name it gets, and where the runtime has it. */
const WRITTEN = [
  { name: 'OperationTypes', file: 'surface/index.ts', from: 'OperationTypes' },
  { name: 'StreamFrames', file: 'surface/frames.ts', from: 'StreamFrames' },
  { name: 'AguiEvent', file: 'wires/agui/event.ts', from: 'AguiEvent' },
  { name: 'AguiInterrupt', file: 'wires/agui/event.ts', from: 'AguiInterrupt' },
  { name: 'AguiUsage', file: 'wires/agui/event.ts', from: 'AguiUsage' },
];
/** Objects that stand in several places, and are long, get a name. */
const LONG = 200;
const OUT = join(ROOT, 'packages/client/src/operations.ts');

const read = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(
  { ...read.config, include: [], files: ['vitest.config.ts'] },
  ts.sys,
  ROOT,
);
const program = ts.createProgram([...new Set(WRITTEN.map(({ file }) => join(RUNTIME, file)))], options);
const checker = program.getTypeChecker();

/** @type {Map<string, { count: number, place: string }>} by the text of an object: how often it is there, and where first */
const objects = new Map();
const texts = WRITTEN.map((one) => ({ ...one, text: print(findType(one), one.name) }));
const named = nameObjects();
const lines = [...named, ...texts].map(({ name, text }) => `export type ${name} = ${useNames(text, name)};\n`);
writeFileSync(
  OUT,
  `// Written by \`node scripts/make-client-types.mjs\` from the operations of the box.\n\n${lines.join('')}`,
);

// --- internal ---

/** @param {{ file: string, from: string }} place */
function findType({ file, from }) {
  const source = program.getSourceFile(join(RUNTIME, file));
  const module = source && checker.getSymbolAtLocation(source);
  const symbol = module && checker.getExportsOfModule(module).find(({ name }) => name === from);
  if (!symbol) throw new Error(`There is no type ${from} in ${file}.`);
  return checker.getDeclaredTypeOfSymbol(symbol);
}

/**
 * @param {ts.Type} type
 * @param {string} place what an error names
 * @param {readonly ts.Type[]} within the types around it
 * @returns {string}
 */
function print(type, place, within = []) {
  if (within.includes(type)) throw new Error(`The type at ${place} holds itself: ${checker.typeToString(type)}.`);
  const inner = [...within, type];
  if (type.isUnion()) return printUnion(type, place, within);
  if (checker.isTupleType(type)) {
    const parts = checker.getTypeArguments(/** @type {ts.TypeReference} */ (type));
    return `[${parts.map((part) => print(part, place, inner)).join(', ')}]`;
  }
  if (checker.isArrayType(type)) {
    const [element] = checker.getTypeArguments(/** @type {ts.TypeReference} */ (type));
    const text = element ? print(element, `${place}[]`, inner) : 'unknown';
    return /^[\w.']+$|^\{.*\}$/.test(text) && !text.includes(' | {') ? `${text}[]` : `(${text})[]`;
  }
  if (type.flags & ts.TypeFlags.Any) throw new Error(`The type at ${place} is any.`);
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) || isBuiltIn(type))
    return checker.typeToString(
      type,
      undefined,
      ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType,
    );
  return printObject(type, place, inner);
}

/**
 * @param {ts.UnionType} type
 * @param {string} place
 * @param {readonly ts.Type[]} within
 */
function printUnion(type, place, within) {
  const isBoolean = type.types.filter(({ flags }) => flags & ts.TypeFlags.BooleanLiteral).length === 2;
  const rest = isBoolean ? type.types.filter(({ flags }) => !(flags & ts.TypeFlags.BooleanLiteral)) : type.types;
  const parts = [...rest.map((each) => print(each, place, within)), ...(isBoolean ? ['boolean'] : [])];
  // Undefined and null last, as people write them; the order of the compiler is that in which it met them.
  return [...new Set(parts)]
    .sort((a, b) => Number(isNothing(a)) - Number(isNothing(b)) || (a < b ? -1 : 1))
    .join(' | ');
}

/** @param {string} text */
function isNothing(text) {
  return text === 'null' || text === 'undefined';
}

/**
 * @param {ts.Type} type
 * @param {string} place
 * @param {readonly ts.Type[]} inner
 */
function printObject(type, place, inner) {
  if (type.getCallSignatures().length > 0) throw new Error(`The type at ${place} is a function.`);
  const indexes = checker.getIndexInfosOfType(type).map(({ keyType, type: value, isReadonly }) => {
    const key = checker.typeToString(keyType);
    return `${isReadonly ? 'readonly ' : ''}[key: ${key}]: ${print(value, `${place}[]`, inner)}`;
  });
  const members = checker.getPropertiesOfType(type).map((property) => {
    const text = print(checker.getTypeOfSymbol(property), `${place}.${property.name}`, inner);
    const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
    const name = /^[\w$]+$/.test(property.name) ? property.name : `'${property.name}'`;
    return `${name}${isOptional ? '?' : ''}: ${text}`;
  });
  const all = [...indexes, ...members];
  const text = all.length === 0 ? 'Record<never, never>' : `{ ${all.join('; ')} }`;
  const seen = objects.get(text) ?? { count: 0, place };
  objects.set(text, { ...seen, count: seen.count + 1 });
  return text;
}

/** Of the library: what every platform has. @param {ts.Type} type */
function isBuiltIn(type) {
  const [declaration] = type.symbol?.declarations ?? [];
  const file = declaration?.getSourceFile();
  return (
    file !== undefined &&
    /^lib\..*\.d\.ts$/.test(file.fileName.split('/').at(-1) ?? '') &&
    type.symbol.name !== '__type'
  );
}

/** The objects that get a name, the shortest first: a longer one may hold it. */
function nameObjects() {
  const taken = new Set(WRITTEN.map(({ name }) => name));
  return [...objects]
    .filter(([text, { count }]) => count > 1 && text.length > LONG && !text.includes('; answer: '))
    .sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1))
    .map(([text, { place }]) => {
      const base = place
        .split(/[^A-Za-z]+/)
        .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
        .join('');
      let name = base.replace(/^OperationTypes/, '');
      while (taken.has(name)) name += 'More';
      taken.add(name);
      return { name, text };
    });
}

/**
 * @param {string} text
 * @param {string} but the name that stands for the whole text
 */
function useNames(text, but) {
  let short = text;
  for (const { name, text: long } of named.toReversed()) if (name !== but) short = short.replaceAll(long, name);
  return short;
}
