import { openClient } from '../client/client.ts';
import type { Client } from '../client/client.ts';
import { CONNECTION_LINE } from '../client/follow.ts';
import { confirmForGood } from '../confirm.ts';
import type { Context } from '../context.ts';
import { defineVerb } from '../verb.ts';
import type { Answer, Verb } from '../verb.ts';
import { toAnswer, toPayload } from './answer.ts';
import { makeExamples } from './examples.ts';
import type { OperationVerb } from './form.ts';
import type { Row } from './row.ts';
import { toRequest } from './request.ts';
import { listRequired, readInput, toSignature } from './signature.ts';
import { findListed, loadSpec } from './spec.ts';
import type { OperationSpec } from './spec.ts';
import { findKind, findWholeId, ID_MEMBERS } from './short-id.ts';
import { toRecords } from './stream.ts';

export interface ProjectOptions {
  /** The words of the verb. */
  path: string;
  /** What the things of its group are called by. */
  sample?: string | undefined;
}

/** A verb made of its operation. */
export async function loadOperationVerb(verb: OperationVerb, options: ProjectOptions): Promise<Verb> {
  const [spec, form] = await Promise.all([loadSpec(verb.operation), verb.form?.()]);
  return projectOperation(spec, { ...verb, ...form }, options);
}

// --- internal ---

/** What the path of an operation names are arguments, every other member of its input is a flag. */
function projectOperation(spec: OperationSpec, verb: OperationVerb, { path, sample }: ProjectOptions): Verb {
  const signature = toSignature(spec, verb);
  const { args, members, positionals, asks } = signature;
  const required = listRequired(signature);
  return defineVerb({
    examples: verb.examples ?? makeExamples(path, { sample, positionals, required, asks }),
    args,
    payload: toPayload(spec, verb),
    ...(spec.isStream ? { stderr: CONNECTION_LINE } : {}),
    isStream: spec.isStream,
    ...(verb.stream?.stderr ? { stderr: verb.stream.stderr } : {}),
    repeatable: members.filter(({ kind }) => kind === 'list').map(({ flag }) => flag),
    // An empty JSON text is reported as what it is: not JSON.
    mayBeEmpty: [...members.filter(({ kind }) => kind === 'json').map(({ flag }) => flag), ...(verb.mayBeEmpty ?? [])],
    ...(verb.completes ? { completes: verb.completes } : {}),
    async run(typed, context) {
      const given = typed as Record<string, unknown>;
      const open = (): Client => openClient(given, context);
      const input = await readWholeIds(spec, await readInput(signature, given, context), open);
      if (asks && input.dryRun !== true)
        await confirm(path, { given: { ...given, ...pick(input, positionals) }, positionals, context });
      const client = open();
      if (spec.isStream) return openStream(spec, { input, verb, client });
      const answer = given.all === true ? await readAll(client, spec, input) : await call(client, spec, input);
      return toAnswer(answer, { spec, verb });
    },
  });
}

/** The input with whole ids where beginnings of them were typed. */
async function readWholeIds(spec: OperationSpec, input: Row, open: () => Client): Promise<Row> {
  const own = findKind(spec.path);
  // A session may be meant by the name its client gave it.
  const isName = own?.kind === 'session' && input.agent !== undefined;
  const kinds = { ...ID_MEMBERS, ...(own && !isName ? { [own.param]: own.kind } : {}) };
  const whole: Row = { ...input };
  for (const [name, kind] of Object.entries(kinds)) {
    const text = input[name];
    const isHere = name === own?.param || name in (spec.input.properties ?? {});
    if (!kind || !isHere) continue;
    if (typeof text === 'string') whole[name] = await findWholeId(kind, text, open);
    if (!Array.isArray(text)) continue;
    const ids: string[] = [];
    for (const one of text) ids.push(await findWholeId(kind, String(one), open));
    whole[name] = ids;
  }
  return whole;
}

function pick(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}

interface Question {
  given: Record<string, unknown>;
  positionals: readonly string[];
  context: Context;
}

async function confirm(path: string, { given, positionals, context }: Question): Promise<void> {
  const words = ['svc', path, ...positionals.map((name) => String(given[name]))].join(' ');
  await confirmForGood(words, { isConfirmed: given.yes === true, context });
}

function call(client: Client, spec: OperationSpec, input: Row): Promise<Row> {
  return client.send<Row>(toRequest(spec, input));
}

async function readAll(client: Client, spec: OperationSpec, input: Row): Promise<Row> {
  const items: unknown[] = [];
  const listed = findListed(spec) ?? 'items';
  let cursor = input.cursor;
  for (;;) {
    const page = await call(client, spec, { limit: PAGE, ...input, cursor });
    items.push(...(page[listed] as unknown[]));
    // A box that answers the same cursor again would be asked for ever.
    if (typeof page.nextCursor !== 'string' || page.nextCursor === cursor)
      return { ...page, [listed]: items, nextCursor: null };
    cursor = page.nextCursor;
  }
}

const PAGE = 200;

async function openStream(
  spec: OperationSpec,
  { input, verb, client }: { input: Row; verb: OperationVerb; client: Client },
): Promise<Answer> {
  const form = verb.stream;
  if (!form) throw new Error(`The stream of "${spec.id}" has no form.`);
  const chosen = form.choose?.(input);
  const request = toRequest(chosen ? await loadSpec(chosen.operation) : spec, chosen?.input ?? input);
  return { data: {}, human: () => '', stream: toRecords(client.follow(request), form) };
}
