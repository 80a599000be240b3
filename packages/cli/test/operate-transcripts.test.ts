import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { runCli } from '../src/main.ts';
import { OPERATE } from '../src/operate/verbs.ts';
import { openSeededBox } from './_seeded.ts';
import type { Seeds } from './_seeded.ts';
import { makeProject, UTF8 } from './_setup.ts';

const sides = [
  { columns: 80, boxes: setupBoxes() },
  { columns: 120, boxes: setupBoxes() },
];

/** Every verb of an operation, reading before writing. */
const listCommands = (seeds: Seeds): string[][] => [
  ['runs', 'list'],
  ['runs', 'list', '--status', 'failed'],
  ['runs', 'list', '--name', 'nobody'],
  ['runs', 'get', seeds.completed],
  ['runs', 'steps', seeds.completed],
  ['logs', 'list'],
  ['logs', 'tail', '--run', seeds.failed],
  ['sessions', 'list'],
  ['sessions', 'get', seeds.session],
  ['hitl', 'list'],
  ['hitl', 'get', seeds.approval],
  ['jobs', 'list'],
  ['prompts', 'list'],
  ['prompts', 'get', seeds.prompt],
  ['prompts', 'versions', seeds.prompt],
  ['config', 'list'],
  ['config', 'get', 'greeting'],
  ['secrets', 'list'],
  ['keys', 'list'],
  ['catalog', 'list'],
  ['catalog', 'list', '--kind', 'agent'],
  ['workflows', 'list'],
  ['contract', 'show'],
  ['hitl', 'approve', seeds.approval, '--note', 'Checked.'],
  ['hitl', 'reject', seeds.otherApproval],
  ['hitl', 'approve', seeds.approval],
  ['jobs', 'pause', 'report:0'],
  ['jobs', 'resume', 'report:0'],
  ['jobs', 'run', 'report:0'],
  ['prompts', 'create', 'tone', '--owner-kind', 'workspace', '--name', 'Tone', '--text', 'Be brief.'],
  ['prompts', 'update', seeds.prompt, '--text', 'Be very brief.', '--note', 'Shorter'],
  ['prompts', 'publish', seeds.prompt, '--version', '1'],
  ['prompts', 'publish', seeds.prompt],
  ['prompts', 'rollback', seeds.prompt],
  ['prompts', 'delete', seeds.prompt, '--yes'],
  ['config', 'set', 'limit', '7'],
  ['config', 'set', 'limit', 'many'],
  ['config', 'set', 'greeting', '7', '--if-revision', '9'],
  ['config', 'set', 'greeting', '7', '--if-revision', '1'],
  ['config', 'unset', 'greeting', '--yes'],
  ['secrets', 'set', 'API_TOKEN'],
  ['secrets', 'set', 'API_TOKEN'],
  ['secrets', 'rotate', 'API_TOKEN', '--yes'],
  ['secrets', 'delete', 'API_TOKEN', '--yes'],
  ['keys', 'create', '--name', 'partner', '--agents', 'support', '--expires-in', '30d'],
  ['keys', 'revoke', seeds.key, '--yes'],
  ['runs', 'retry', seeds.failed],
  ['runs', 'resume', seeds.completed],
  ['runs', 'cancel', seeds.completed, '--yes'],
  ['runs', 'cancel', seeds.waiting],
  ['runs', 'delete', seeds.failed, '--yes'],
  ['sessions', 'delete', seeds.session, '--yes'],
  ['activity', 'list'],
  ['activity', 'get', '00000000-0000-7000-8000-000000009999'],
];

it.each(sides)('every verb prints at $columns columns what the transcript says', async ({ columns, boxes }) => {
  const seeds = await openSeededBox(boxes);
  const cwd = await makeProject(seeds.url);
  const shown: string[] = [];
  const seen = new Set<string>();
  for (const argv of listCommands(seeds)) {
    seen.add(argv.slice(0, 2).join(' '));
    const env = { ...UTF8, NO_COLOR: '1' };
    const stdin = argv[0] === 'secrets' ? 'a planted value\n' : '';
    const result = await runCli(argv, { cwd, env, tty: true, columns, stdin });
    expect(`${result.stdout}${result.stderr}`).not.toContain('planted');
    shown.push(`$ svc ${argv.join(' ')}\n${result.stdout}${mark(result.stderr)}${exitOf(result.exitCode)}`);
  }
  const all = Object.entries(OPERATE).flatMap(([group, { verbs }]) =>
    Object.keys(verbs).map((word) => `${group} ${word}`),
  );
  expect(all.filter((verb) => !seen.has(verb))).toEqual([]);
  const text = settle(shown.join('\n'));
  const file = `transcripts/operate-${columns}.txt`;
  if (process.env.UPDATE) writeFileSync(join(import.meta.dirname, file), text);
  await expect(text).toMatchFileSnapshot(file);
});

// --- internal ---

/** What goes to stderr. */
function mark(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '! ');
}

function exitOf(code: number): string {
  return code === 0 ? '' : `(exit ${code})\n`;
}

/** What no two boxes have the same: keys, times to the second, versions. */
function settle(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-01-31T12:00:00.000Z')
    .replaceAll(/\bsvc_[\w-]+/g, (key) => `svc_${'k'.repeat(key.length - 4)}`)
    .replaceAll(/durationMs=\d+/g, 'durationMs=1')
    .replaceAll(/\b0\.\d+\.\d+\b/g, '0.0.0');
}
