import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listLeaves } from './_bad-input.ts';
import { settleIds, startTranscript, WIDTHS } from './_transcript.ts';

const FOLDER = join(import.meta.dirname, 'transcripts');
const GROUPS = [...new Set(listLeaves().flatMap(({ path }) => (path.includes(' ') ? [path.split(' ')[0] ?? ''] : [])))];

it.each(WIDTHS)('the help of every verb is this at %i columns', async (columns) => {
  const transcript = startTranscript({ columns, settle: settleIds });
  for (const argv of [[], ['--version'], ['runz'], ['workflows', 'strt'], ['runs', 'list', '--stauts', 'failed']])
    await transcript.run(argv);
  for (const group of GROUPS) {
    // A word that does something by itself is no question for its verbs.
    if (!listLeaves().some(({ path }) => path === group)) await transcript.run([group]);
    await transcript.run([group, '--help']);
  }
  for (const { path } of listLeaves()) await transcript.run([...path.split(' '), '--help']);
  await transcript.expectFile('help');
});

it.each(WIDTHS)('every verb was run for a transcript at %i columns', (columns) => {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(`-${columns}.txt`));
  const texts = files.map((file) => readFileSync(join(FOLDER, file), 'utf8'));
  const commands = texts.flatMap((text) => text.match(/^\$ svc .*$/gm) ?? []);
  const ran = commands.filter((command) => !command.endsWith('--help'));
  const missing = listLeaves().filter(({ path }) => !ran.some((command) => `${command} `.startsWith(`$ svc ${path} `)));
  expect(missing.map(({ path }) => path)).toEqual([]);
});
