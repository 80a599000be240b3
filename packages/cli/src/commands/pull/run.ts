import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { openClient, toSegment } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import { CliError, usageError } from '../../errors.ts';
import { splitList } from '../../operations/members.ts';
import { findWholeId } from '../../operations/short-id.ts';
import { array, integer, nullable, object, optional, string } from '../../payload/payload.ts';
import { checkPlace } from '../../workspace/place.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { wrapText } from '../../terminal/wrap.ts';
import { countOf } from '../../workspace/workspace.ts';
import { findHistory } from '../replay/history.ts';
import type { History } from '../replay/history.ts';
import { writeWhole } from '../replay/write.ts';

export const pullRun = defineVerb({
  examples: [
    'svc pull run 0192f3b4-0000-7000-8000-000000000000',
    'svc pull run 0192f3b4-0000-7000-8000-000000000000 --out run.json --force',
  ],
  args: {
    id: { type: 'positional', required: true, description: 'The run id.' },
    out: { type: 'string', valueHint: 'path', description: 'The file to write. Default: .svc/runs/<id>.json.' },
    force: { type: 'boolean', description: 'Replace a file that is there.' },
    promote: {
      type: 'enum',
      options: ['eval'],
      description: 'Make a case of an eval of it in the box. Then a file is written with --out alone.',
    },
    tags: {
      type: 'string',
      valueHint: 'names',
      description: 'With --promote: the tags of the case, with commas between.',
    },
    ...TARGET_ARGS,
  },
  payload: object({
    runId: string('The run.'),
    file: nullable(string('The file its history is in, absolute. Null: none was written.')),
    records: integer('How many records it holds.', { minimum: 0 }),
    masked: array(string(), 'Where a secret is hidden in it: paths in the document.'),
    caseId: optional(string('With --promote: the case that was made of it.')),
  }),
  async run({ id: typed, out, force, promote, tags, ...target }, context) {
    if (tags !== undefined && promote === undefined)
      throw usageError('--tags are those of a case.', 'Add --promote eval, or leave them out.');
    const open = () => openClient(target, context);
    const id = await findWholeId('run', typed, open);
    const isKept = promote === undefined || out !== undefined;
    const file = out === undefined ? findHistory(id, context.cwd) : resolve(context.cwd, out);
    if (isKept && existsSync(file) && !force)
      throw new CliError('already_exists', `"${file}" is there already.`, {
        suggestion: 'Add --force to replace it, or --out to write another file.',
      });
    if (isKept) checkPlace(file, { flag: 'out', kind: 'file' });
    const history = await open().get<History>(`/api/runs/${toSegment(id)}/export`);
    // What people said and did is in it: for its owner alone.
    if (isKept) writeWhole(file, `${JSON.stringify(history, null, 2)}\n`, { mode: 0o600 });
    const made = promote && (await makeCase(open(), id, tags));
    const { records, masked, run } = history;
    const shown = relative(context.cwd, file);
    const hidden =
      masked.length === 0
        ? ''
        : ` ${countOf(masked.length, 'secret')} in it ${masked.length === 1 ? 'is' : 'are'} masked.`;
    return {
      data: {
        runId: run.runId,
        file: isKept ? file : null,
        records: records.length,
        masked,
        ...(made ? { caseId: made.id } : {}),
      },
      human: (style) =>
        wrapText(
          made
            ? `${style.green('Made')} a case of ${run.name} (${run.status}): ${made.id}`
            : `${style.green('Pulled')} ${run.name} (${run.status}), ${countOf(records.length, 'record')}: ${shown}.${hidden}`,
          style,
        ),
      hint: made
        ? 'It is in the suites that have its id, or one of its tags.'
        : `Step through it with: svc replay ${out === undefined ? run.runId : shown}`,
    };
  },
});

// --- internal ---

/** A case of what the run was asked and what it answered. */
function makeCase(client: Client, fromRunId: string, tags: string | undefined): Promise<{ id: string }> {
  const given = tags === undefined ? {} : { tags: splitList(tags) };
  return client.post<{ id: string }>('/api/evals/cases', { fromRunId, ...given });
}
