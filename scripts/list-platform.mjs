// @ts-check
/**
 * What this release of Node has: its globals, the members of `process`, `performance` and `crypto.subtle`, and the exports
 * of its modules, a line each. `engine/guard/platform.test.ts` judges the lists of the releases we run on:
 *
 *   node scripts/list-platform.mjs > packages/runtime/src/engine/guard/platform/node-20.txt
 *   npx -y node@24 scripts/list-platform.mjs > packages/runtime/src/engine/guard/platform/node-24.txt
 *
 * Names that are not enumerable are among them. A plain name is a function or a class, `name@` one behind an accessor, `name=` any other value. Texts, constants and what
 * is Node's own (`_name`) are left out: they say nothing that changes, and do nothing.
 */
import { builtinModules, isBuiltin } from 'node:module';

/** Modules that have no name without `node:`, which not every release lists. */
const PREFIXED = ['sea', 'sqlite', 'test', 'test/reporters'];

const globals = Object.getOwnPropertyNames(globalThis);
console.log(format('globals', globalThis, globals));
console.log(format('process', process, namesOf(process)));
console.log(format('performance', performance, membersOf(performance)));
console.log(format('crypto.subtle', crypto.subtle, membersOf(crypto.subtle)));
// Loading some of them says that they are experimental.
process.removeAllListeners('warning');
const modules = new Set([...builtinModules.map((name) => name.replace('node:', '')), ...PREFIXED]);
for (const name of [...modules].filter((each) => !each.startsWith('_') && isBuiltin(`node:${each}`)).sort()) {
  const module = /** @type {object} */ (process.getBuiltinModule(`node:${name}`));
  console.log(format(`node:${name}`, module, namesOf(module)));
}

// --- internal ---

/**
 * Also those that are not enumerable, as `crypto.pseudoRandomBytes` is: an import has them by their name all the same.
 *
 * @param {object} holder
 */
function namesOf(holder) {
  const own = typeof holder === 'function' ? Object.keys(Function.prototype).concat('length', 'name', 'prototype') : [];
  return Object.getOwnPropertyNames(holder).filter((name) => !own.includes(name));
}

/** @param {object} holder */
function membersOf(holder) {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(holder));
}

/** @param {string} where @param {object} holder @param {string[]} names */
function format(where, holder, names) {
  const found = names.flatMap((name) => {
    const value = read(holder, name);
    const isConstant = typeof value === 'number' && /^[A-Z]/.test(name);
    if (name.startsWith('_') || isConstant || ['string', 'undefined'].includes(typeof value)) return [];
    if (typeof value !== 'function') return [`${name}=`];
    return [Object.getOwnPropertyDescriptor(holder, name)?.get ? `${name}@` : name];
  });
  return `${where}: ${found.sort().join(' ')}`;
}

/** @param {object} holder @param {string} name */
function read(holder, name) {
  try {
    return /** @type {unknown} */ (Reflect.get(holder, name));
  } catch {
    return null;
  }
}
