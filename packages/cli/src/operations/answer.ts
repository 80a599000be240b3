import { EXIT } from '../errors.ts';
import { fromSchema, object } from '../payload/payload.ts';
import type { JsonType } from '../payload/payload.ts';
import type { Schema } from '../payload/schema.ts';
import { toPlainText } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import type { Answer } from '../verb.ts';
import { formatCard } from './card.ts';
import { listColumns } from './columns.ts';
import type { OperationVerb } from './form.ts';
import type { Row } from './row.ts';
import { findListed } from './spec.ts';
import type { OperationSpec } from './spec.ts';

/** What an operation answered, for a program and for a person. */
export function toAnswer(answer: Row, { spec, verb }: { spec: OperationSpec; verb: OperationVerb }): Answer {
  const exitCode = verb.exitCode?.(answer) ?? EXIT.ok;
  const table = { named: verb.columns, now: Date.now() };
  const hint = verb.hint?.(answer) ?? describeNext(answer, spec);
  return {
    data: verb.wrap === undefined ? answer : { [verb.wrap]: answer },
    human: (style) => {
      if (verb.human) return verb.human(answer, style);
      if (verb.done) return `${style.green(verb.done)} ${toPlainText(verb.subject?.(answer) ?? '')}`.trimEnd();
      if (!Array.isArray(answer.items)) return formatCard(answer, style);
      const items = answer.items as Row[];
      return items.length === 0
        ? `No ${verb.items ?? spec.id.split('.')[0]} match.`
        : formatTable(listColumns(spec, { ...table, rows: items, isWhole: style.columns === undefined }), items, style);
    },
    ...(hint === undefined ? {} : { hint }),
    ...(exitCode === EXIT.ok ? {} : { closed: Promise.resolve(exitCode) }),
  };
}

/** What it prints: the answer of its operation, or the lines its stream is shown as. */
export function toPayload({ output }: OperationSpec, { wrap, stream }: OperationVerb): JsonType<object> {
  if (stream) return stream.lines;
  if (wrap !== undefined) return object({ [wrap]: fromSchema(output) });
  return fromSchema(nameMembers(output));
}

// --- internal ---

function describeNext({ nextCursor }: Row, spec: OperationSpec): string | undefined {
  if (typeof nextCursor !== 'string') return undefined;
  return `There are more: add --cursor ${nextCursor}${findListed(spec) === undefined ? '' : ', or --all'}`;
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
