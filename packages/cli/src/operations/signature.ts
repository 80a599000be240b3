import type { ArgDef, ArgsDef } from 'citty';
import type { Context } from '../context.ts';
import { usageError } from '../errors.ts';
import { TARGET_ARGS } from '../verb.ts';
import type { OperationVerb } from './form.ts';
import type { Row } from './row.ts';
import { readMember, toFlags, toMember } from './members.ts';
import type { Member } from './members.ts';
import { findListed, listParams } from './spec.ts';
import type { OperationSpec } from './spec.ts';

/** What may be typed behind a verb of an operation, and what it stands for. */
export interface Signature {
  args: ArgsDef;
  /** Arguments, in their order. */
  positionals: string[];
  members: Member[];
  verb: OperationVerb;
  spec: OperationSpec;
  asks: boolean;
}

export function toSignature(spec: OperationSpec, verb: OperationVerb): Signature {
  const schemas = spec.input.properties ?? {};
  const hidden = [...Object.keys(verb.fixed ?? {}), ...(verb.replaces ?? []), ...OWN_MEMBERS];
  const positionals = [...listParams(spec), ...(verb.positionals ?? [])];
  const typed = Object.entries(schemas).filter(([name]) => !hidden.includes(name));
  const members = typed.filter(([name]) => !positionals.includes(name)).map(([name, schema]) => toMember(name, schema));
  const asks = spec.confirm && verb.asks !== false;
  const required = spec.input.required ?? [];
  const args: ArgsDef = {
    ...Object.fromEntries(
      positionals.map((name): [string, ArgDef] => [
        name,
        { type: 'positional', required: true, description: describePositional(spec, name) },
      ]),
    ),
    ...verb.flags,
    ...Object.fromEntries(
      members.flatMap((member) =>
        Object.entries(toFlags(member)).map(([flag, def]): [string, ArgDef] => [
          flag,
          required.includes(member.name) ? { ...def, required: true } : def,
        ]),
      ),
    ),
    ...(findListed(spec) === undefined ? {} : { all: ALL_ARG }),
    ...(asks ? { yes: YES_ARG } : {}),
    ...TARGET_ARGS,
  };
  return { args, positionals, members, verb, spec, asks };
}

/** The flags without which the verb is refused. */
export function listRequired({ members, spec }: Signature): Member[] {
  return members.filter(({ name }) => spec.input.required?.includes(name));
}

/** The input of the operation, from what was typed. */
export async function readInput(signature: Signature, given: Record<string, unknown>, context: Context): Promise<Row> {
  const { members, positionals, verb } = signature;
  for (const { flag } of listRequired(signature))
    if (given[flag] === undefined && given[`${flag}-file`] === undefined)
      throw usageError(`--${flag} is missing.`, 'Run the verb with --help to see its flags.');
  const input: Row = { ...verb.fixed };
  for (const name of positionals) input[name] = given[name];
  for (const member of members) {
    const value = await readMember(member, given, context);
    if (value !== undefined) input[member.name] = value;
  }
  return { ...input, ...(await verb.read?.(given, context)) };
}

// --- internal ---

/** The client fills them in: they are no flags. */
const OWN_MEMBERS = ['lastEventId'];
const ALL_ARG = { type: 'boolean', description: 'Follow the cursors to the last page.' } as const;
const YES_ARG = { type: 'boolean', description: 'Do not ask.' } as const;

function describePositional({ input }: OperationSpec, name: string): string {
  const description = input.properties?.[name]?.description ?? `The ${name}`;
  return /[.?!]$/.test(description) ? description : `${description}.`;
}
