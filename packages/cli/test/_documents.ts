import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { listLeaves } from '../src/group.ts';
import { TREE } from '../src/tree.ts';

/** What a command printed. */
export interface Printed {
  stdout: string;
  stderr: string;
}

const REFERENCE = new URL('../../../docs/reference/payloads.json', import.meta.url);

/** Throws unless what a command printed with --json is what docs/reference/payloads.json says. */
export async function checkPrinted(argv: readonly string[], { stdout, stderr }: Printed): Promise<void> {
  const own = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  if (!own.includes('--json')) return;
  const [path, isHelp] = findPath(own);
  const lines = parseLines(stdout);
  for (const line of lines) {
    if (isFailure(line)) await check('failure', line, argv);
    else if (isHelp) await check(path === 'version' ? 'version' : 'help', line, argv);
    else if (!(madeUp.count > 0 && isAnsweredByBox(path))) await check(`svc ${path}`, line, argv);
  }
  for (const line of parseLines(stderr)) await check(`svc ${path} (stderr)`, line, argv);
  if (path === 'logs tail' && !isHelp && lines.length > 0 && !isFailure(lines.at(-1)) && !isEnd(lines.at(-1)))
    throw new Error(`${argv.join(' ')}: the last line of a stream does not say end.`);
}

/** Why a value is not what the reference says; undefined: it is. */
export async function findMisfit(name: string, value: unknown): Promise<string | undefined> {
  const { error } = (await loadSchema(name)).safeParse(value);
  return error?.message;
}

/** Made-up boxes answer what a test wants to see, not what a box would: verbs print it as it comes. */
export function countMadeUp(): void {
  madeUp.count += 1;
  onTestFinished(() => void (madeUp.count -= 1));
}

/** Every verb, without its `svc`. */
export function listPaths(): string[] {
  return LEAVES.map(({ path }) => path);
}

// --- internal ---

const LEAVES = listLeaves(TREE);
const madeUp = { count: 0 };

interface Parsing {
  safeParse(value: unknown): { error?: { message: string } | undefined };
}

const loaded = new Map<string, Promise<Parsing>>();

function loadSchema(name: string): Promise<Parsing> {
  const known = loaded.get(name) ?? parseSchema(name);
  loaded.set(name, known);
  return known;
}

async function parseSchema(name: string): Promise<Parsing> {
  const { z } = await import('../../../playground/node_modules/zod/index.js');
  const { [name]: schema } = JSON.parse(readFileSync(REFERENCE, 'utf8')) as Record<string, object>;
  if (!schema) throw new Error(`docs/reference/payloads.json has no "${name}". Write it anew: pnpm reference`);
  return z.fromJSONSchema(schema as never);
}

async function check(name: string, value: unknown, argv: readonly string[]): Promise<void> {
  const misfit = await findMisfit(name, value);
  if (misfit === undefined) return;
  const words = [`svc ${argv.join(' ')}`, `prints what docs/reference/payloads.json does not say of "${name}":`];
  throw new Error(`${words.join(' ')} ${JSON.stringify(value).slice(0, 2_000)}\n${misfit}`);
}

/** The verb of a command line, and whether it is asked for help. */
function findPath(argv: readonly string[]): [path: string, isHelp: boolean] {
  const words = argv.filter((word) => !GLOBAL.includes(word));
  if (words.length === 1 && ['--version', '-v'].includes(words[0] ?? '')) return ['version', true];
  const asked = words[0] === 'help';
  const typed = (asked ? words.slice(1) : words).join(' ');
  // The longest: a group may do something by itself.
  const path = listPaths().findLast((known) => typed === known || typed.startsWith(`${known} `));
  return [path ?? '', asked || path === undefined || argv.includes('--help') || argv.includes('-h')];
}

const GLOBAL = ['--json', '--verbose', '--no-color'];

/** Also verbs of their own, where they print an answer of the box. */
function isAnsweredByBox(path: string): boolean {
  const found = LEAVES.find((verb) => verb.path === path);
  return (
    found?.leaf.operation !== undefined ||
    ['why', 'upgrade', 'contract show', 'workflows start', 'runs fork', 'runs rewind'].includes(path)
  );
}

/** Text for people may stand between, on stderr; a line that was cut off is none. */
function parseLines(text: string): unknown[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return whole.filter((line) => line.startsWith('{"')).map((line) => JSON.parse(line) as unknown);
}

function isFailure(line: unknown): boolean {
  return Object.hasOwn(Object(line) as object, 'error');
}

function isEnd(line: unknown): boolean {
  return (Object(line) as { type?: unknown }).type === 'end';
}
