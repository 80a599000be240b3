import type { ArgDef, ArgsDef } from 'citty';
import { openClient } from '../client/client.ts';
import type { Client } from '../client/client.ts';
import { CliError, usageError } from '../errors.ts';
import { CONNECTION_LINE } from '../client/follow.ts';
import { fromSchema, object } from '../payload/payload.ts';
import type { JsonType } from '../payload/payload.ts';
import { formatTable } from '../terminal/table.ts';
import { toPlainText } from '../terminal/style.ts';
import { defineVerb, TARGET_ARGS } from '../verb.ts';
import type { Context } from '../context.ts';
import type { Answer, Verb } from '../verb.ts';
import { formatCard } from './card.ts';
import { listColumns } from './columns.ts';
import type { Row } from './columns.ts';
import { makeExamples } from './examples.ts';
import { readMember, toFlags, toMember } from './members.ts';
import type { Member } from './members.ts';
import { toRequest } from './request.ts';
import { SPECIALS } from './special.ts';
import type { Special } from './special.ts';
import { listParams, loadSpec } from './spec.ts';
import type { OperationSpec } from './spec.ts';
import type { Schema } from '../payload/schema.ts';
import { toRecords } from './stream.ts';
import { findOperateVerb } from './verbs.ts';

/** The verb of these words, made of its operation. */
export async function loadOperateVerb(path: string): Promise<Verb> {
  const known = findOperateVerb(path);
  if (!known) throw new Error(`"${path}" is no verb of an operation.`);
  return projectOperation(await loadSpec(known.operation), { path, special: SPECIALS[path] ?? {} });
}

/** An operation as a verb: what its path names are arguments, every other member of its input is a flag. */
export function projectOperation(spec: OperationSpec, { path, special }: { path: string; special: Special }): Verb {
  const form = toForm(spec, special);
  const { args, members, positionals } = form;
  return defineVerb({
    examples: special.examples ?? makeExamples(path, { positionals, required: listRequired(form), asks: form.asks }),
    args,
    payload: toPayload(spec, special),
    ...(spec.isStream ? { stderr: CONNECTION_LINE } : {}),
    isStream: spec.isStream,
    ...(special.stream?.stderr ? { stderr: special.stream.stderr } : {}),
    repeatable: members.filter(({ kind }) => kind === 'list').map(({ flag }) => flag),
    // An empty JSON text is reported as what it is: not JSON.
    mayBeEmpty: [
      ...members.filter(({ kind }) => kind === 'json').map(({ flag }) => flag),
      ...(special.mayBeEmpty ?? []),
    ],
    async run(typed, context) {
      const given = typed as Record<string, unknown>;
      const input = await readInput(form, given, context);
      if (form.asks) await confirm(path, { given, positionals, context });
      const client = openClient(given, context);
      if (spec.isStream) return openStream(spec, { input, special, client });
      const answer = given.all === true ? await readAll(client, spec, input) : await call(client, spec, input);
      return toAnswer(answer, { spec, special });
    },
  });
}

// --- internal ---

/** A verb before it is run: what may be typed, and what it stands for. */
interface Form {
  args: ArgsDef;
  /** Arguments, in their order. */
  positionals: string[];
  members: Member[];
  special: Special;
  spec: OperationSpec;
  asks: boolean;
}

function toForm(spec: OperationSpec, special: Special): Form {
  const schemas = spec.input.properties ?? {};
  const hidden = [...Object.keys(special.fixed ?? {}), ...(special.replaces ?? []), ...OWN_MEMBERS];
  const positionals = [...listParams(spec), ...(special.positionals ?? [])];
  const typed = Object.entries(schemas).filter(([name]) => !hidden.includes(name));
  const members = typed.filter(([name]) => !positionals.includes(name)).map(([name, schema]) => toMember(name, schema));
  const asks = spec.confirm && special.asks !== false;
  const required = spec.input.required ?? [];
  const args: ArgsDef = {
    ...Object.fromEntries(
      positionals.map((name): [string, ArgDef] => [
        name,
        { type: 'positional', required: true, description: describePositional(spec, name) },
      ]),
    ),
    ...special.flags,
    ...Object.fromEntries(
      members.flatMap((member) =>
        Object.entries(toFlags(member)).map(([flag, def]): [string, ArgDef] => [
          flag,
          required.includes(member.name) ? { ...def, required: true } : def,
        ]),
      ),
    ),
    ...('cursor' in schemas ? { all: ALL_ARG } : {}),
    ...(asks ? { yes: YES_ARG } : {}),
    ...TARGET_ARGS,
  };
  return { args, positionals, members, special, spec, asks };
}

/** The client knows them: nobody types them. */
const OWN_MEMBERS = ['lastEventId'];
const ALL_ARG = { type: 'boolean', description: 'Follow the cursors to the last page.' } as const;
const YES_ARG = { type: 'boolean', description: 'Do not ask.' } as const;

function describePositional({ input }: OperationSpec, name: string): string {
  const description = input.properties?.[name]?.description ?? `The ${name}`;
  return /[.?!]$/.test(description) ? description : `${description}.`;
}

/** The flags without which the verb is refused. */
function listRequired({ members, spec }: Form): Member[] {
  return members.filter(({ name }) => spec.input.required?.includes(name));
}

async function readInput(form: Form, given: Record<string, unknown>, context: Context): Promise<Row> {
  const { members, positionals, special } = form;
  for (const { flag } of listRequired(form))
    if (given[flag] === undefined && given[`${flag}-file`] === undefined)
      throw usageError(`--${flag} is missing.`, 'Run the verb with --help to see its flags.');
  const input: Row = { ...special.fixed };
  for (const name of positionals) input[name] = given[name];
  for (const member of members) {
    const value = await readMember(member, given, context);
    if (value !== undefined) input[member.name] = value;
  }
  return { ...input, ...(await special.read?.(given, context)) };
}

interface Question {
  given: Record<string, unknown>;
  positionals: readonly string[];
  context: Context;
}

/** Asks the person who is there. Throws `confirm_required` where nobody is, and stops at anything but yes. */
async function confirm(path: string, { given, positionals, context }: Question): Promise<void> {
  if (given.yes === true) return;
  const words = ['svc', path, ...positionals.map((name) => String(given[name]))].join(' ');
  if (!context.mayAsk)
    throw new CliError('confirm_required', `"${words}" cannot be taken back, and nobody can be asked.`, {
      suggestion: 'Add --yes.',
    });
  const answer = await context.ask(`${toPlainText(words)}: this cannot be taken back. Go on? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CliError('generic', 'Nothing was done.', { suggestion: 'Answer y to go on, or add --yes.' });
}

function call(client: Client, spec: OperationSpec, input: Row): Promise<Row> {
  return client.send<Row>(toRequest(spec, input));
}

async function readAll(client: Client, spec: OperationSpec, input: Row): Promise<Row> {
  const items: unknown[] = [];
  let cursor = input.cursor;
  for (;;) {
    const page = await call(client, spec, { limit: PAGE, ...input, cursor });
    items.push(...(page.items as unknown[]));
    // A box that answers the same cursor again would be asked for ever.
    if (typeof page.nextCursor !== 'string' || page.nextCursor === cursor) return { ...page, items, nextCursor: null };
    cursor = page.nextCursor;
  }
}

const PAGE = 200;

async function openStream(
  spec: OperationSpec,
  { input, special, client }: { input: Row; special: Special; client: Client },
): Promise<Answer> {
  const form = special.stream;
  if (!form) throw new Error(`The stream of "${spec.id}" has no form.`);
  const chosen = form.choose?.(input);
  const request = toRequest(chosen ? await loadSpec(chosen.operation) : spec, chosen?.input ?? input);
  return { data: {}, human: () => '', stream: toRecords(client.follow(request), form) };
}

function toAnswer(answer: Row, { spec, special }: { spec: OperationSpec; special: Special }): Answer {
  const hint = special.hint?.(answer) ?? describeNext(answer);
  return {
    data: special.wrap === undefined ? answer : { [special.wrap]: answer },
    human: (style) => {
      if (special.human) return special.human(answer, style);
      if (special.done) return `${style.green(special.done)} ${toPlainText(special.subject?.(answer) ?? '')}`.trimEnd();
      if (!Array.isArray(answer.items)) return formatCard(answer, style);
      const items = answer.items as Row[];
      return items.length === 0
        ? `No ${describeItems(spec)} match.`
        : formatTable(listColumns(spec, Date.now()), items, style);
    },
    ...(hint === undefined ? {} : { hint }),
  };
}

function describeNext({ nextCursor }: Row): string | undefined {
  return typeof nextCursor === 'string' ? `There are more: add --cursor ${nextCursor}, or --all` : undefined;
}

/** `runs`, `log records`: as a person says what a list would hold. */
function describeItems({ id }: OperationSpec): string {
  const [room = ''] = id.split('.');
  return ITEM_WORDS[id] ?? ITEM_WORDS[room] ?? room;
}

const ITEM_WORDS: Record<string, string | undefined> = {
  'runs.steps': 'steps',
  'prompts.versions': 'versions',
  config: 'keys',
  catalog: 'entries',
  activity: 'changes',
  logs: 'records',
};

/** What it prints: the answer of its operation, or the lines its stream is shown as. */
function toPayload({ output }: OperationSpec, { wrap, stream }: Special): JsonType<object> {
  if (stream) return stream.lines;
  if (wrap !== undefined) return object({ [wrap]: fromSchema(output) });
  return fromSchema(nameMembers(output));
}

/** Members every list has are not described by each operation. */
function nameMembers(schema: Schema): Schema {
  const members = Object.entries(schema.properties ?? {}).map(([name, member]): [string, Schema] => {
    const description = member.description ?? MEMBER_WORDS[name];
    return [name, description === undefined ? member : { ...member, description }];
  });
  return schema.properties ? { ...schema, properties: Object.fromEntries(members) } : schema;
}

const MEMBER_WORDS: Record<string, string | undefined> = {
  items: 'What was found, each as the box answers it.',
  nextCursor: 'The value of --cursor for the page after, or null.',
};
