import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CliError } from '../../errors.ts';
import { integer, object, string } from '../../payload/payload.ts';
import { defineVerb } from '../../verb.ts';
import { DATA_ARG, findFolderBeside, KEY_FILE, readSecretKey, requireStore } from './data-folder.ts';
import { rethrowPlaneFailure } from './failure.ts';

export const backup = defineVerb({
  examples: ['svc plane backup ./plane.backup', 'svc plane backup ./plane.backup --data-dir ./plane'],
  args: {
    file: { type: 'positional', required: true, description: 'The file to write. One that is there is left alone.' },
    'data-dir': DATA_ARG,
  },
  completes: { file: { paths: 'files' }, 'data-dir': { paths: 'folders' } },
  payload: object({
    file: string('The file that was written, readable by its owner alone.'),
    rows: integer('How many rows it has.', { minimum: 0 }),
  }),
  async run({ file: named, 'data-dir': dir }, context) {
    const file = resolve(context.cwd, named);
    const dataDir = requireStore(dir, context, {
      also: `: nothing is written to "${file}"`,
      suggestion: 'Name its folder: svc plane backup ./plane.backup --data-dir <folder>',
    });
    const { backUpToFile } = await import('@svc/control-plane');
    context.progress(`Writing ${file} …`);
    const rows = await backUpToFile({ dataDir, databaseUrl: undefined }, file).catch(rethrowPlaneFailure);
    return {
      data: { file, rows },
      human: ({ green }) => `${green('Backed up')} ${rows} rows: ${file}`,
      hint: `Keep ${join(dataDir, KEY_FILE)} as well, in another place: without that key the backup cannot be opened.`,
    };
  },
});

export const restore = defineVerb({
  examples: ['svc plane restore ./plane.backup', 'svc plane restore ./plane.backup --data-dir ./plane'],
  args: {
    file: { type: 'positional', required: true, description: 'What `svc plane backup` has written.' },
    'data-dir': DATA_ARG,
  },
  completes: { file: { paths: 'files' }, 'data-dir': { paths: 'folders' } },
  payload: object({
    file: string('The file that was read.'),
    rows: integer('How many rows it has.', { minimum: 0 }),
  }),
  async run({ file: named, 'data-dir': dir }, context) {
    const file = resolve(context.cwd, named);
    if (!existsSync(file))
      throw new CliError('file_unreadable', `There is no file "${file}".`, {
        suggestion: 'Name a file that `svc plane backup` has written.',
      });
    const dataDir = findFolderBeside(dir, context);
    if (!existsSync(join(dataDir, KEY_FILE)))
      throw new CliError(
        'secret_key_missing',
        `"${dataDir}" has no "${KEY_FILE}": what "${file}" has sealed would not open.`,
        {
          suggestion: 'Put the key that was kept beside the backup there, then try again.',
        },
      );
    const { restoreFromFile } = await import('@svc/control-plane');
    context.progress(`Reading ${file} …`);
    const settings = { dataDir, databaseUrl: undefined, secretKey: await readSecretKey(dataDir) };
    const rows = await restoreFromFile(settings, file).catch(rethrowPlaneFailure);
    return { data: { file, rows }, human: ({ green }) => `${green('Restored')} ${rows} rows: ${dataDir}` };
  },
});
