import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { openClient, toSegment } from '../../client/client.ts';
import { CliError } from '../../errors.ts';
import { findWholeId } from '../../operate/short-id.ts';
import { array, integer, object, string } from '../../payload/payload.ts';
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
    ...TARGET_ARGS,
  },
  payload: object({
    runId: string('The run.'),
    file: string('The file its history is in, absolute.'),
    records: integer('How many records it holds.', { minimum: 0 }),
    masked: array(string(), 'Where a secret is hidden in it: paths in the document.'),
  }),
  async run({ id: typed, out, force, ...target }, context) {
    const open = () => openClient(target, context);
    const id = await findWholeId('run', typed, open);
    const file = out === undefined ? findHistory(id, context.cwd) : resolve(context.cwd, out);
    if (existsSync(file) && !force)
      throw new CliError('already_exists', `"${file}" is there already.`, {
        suggestion: 'Add --force to replace it, or --out to write another file.',
      });
    checkPlace(file, { flag: 'out', kind: 'file' });
    const history = await open().get<History>(`/api/runs/${toSegment(id)}/export`);
    // What people said and did is in it: for its owner alone.
    writeWhole(file, `${JSON.stringify(history, null, 2)}\n`, { mode: 0o600 });
    const { records, masked, run } = history;
    const shown = relative(context.cwd, file);
    const hidden =
      masked.length === 0
        ? ''
        : ` ${countOf(masked.length, 'secret')} in it ${masked.length === 1 ? 'is' : 'are'} masked.`;
    return {
      data: { runId: run.runId, file, records: records.length, masked },
      human: (style) =>
        wrapText(
          `${style.green('Pulled')} ${run.name} (${run.status}), ${countOf(records.length, 'record')}: ${shown}.${hidden}`,
          style,
        ),
      hint: `Step through it with: svc replay ${out === undefined ? run.runId : shown}`,
    };
  },
});
