import { describe, expect, it } from 'vitest';
import { z } from '../../../playground/node_modules/zod/index.js';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { runCli } from '../src/main.ts';
import { listPayloads } from '../src/operate/payloads.ts';
import { openSeededBox } from './_seeded.ts';
import { makeProject } from './_setup.ts';

const boxes = setupBoxes();

describe('what --json prints', () => {
  it('is what docs/reference/payloads.json says of the verb, also where it fails', async () => {
    const seeds = await openSeededBox(boxes);
    const cwd = await makeProject(seeds.url);
    const schemas = await listPayloads();
    const lines = [
      'runs list',
      `runs get ${seeds.failed}`,
      `runs steps ${seeds.completed}`,
      `why ${seeds.waiting}`,
      'logs list',
      'sessions list',
      `sessions get ${seeds.session}`,
      'hitl list --all',
      `hitl approve ${seeds.approval}`,
      'jobs list',
      'jobs pause report:0',
      `prompts get ${seeds.prompt}`,
      `prompts publish ${seeds.prompt}`,
      `prompts versions ${seeds.prompt}`,
      'config list',
      'config set limit 7',
      'secrets list',
      'secrets delete SMTP_PASSWORD --yes',
      'keys list',
      'keys create --name partner --workflows greet',
      'catalog list',
      'activity list',
      `runs retry ${seeds.failed}`,
      'contract show',
      'workflows list',
    ];
    for (const line of lines) {
      const { stdout } = await runCli([...line.split(' '), '--json'], { cwd });
      expect([line, check(schemas, line, stdout)]).toEqual([line, undefined]);
    }
    const { stdout } = await runCli(['runs', 'get', 'nope', '--json'], { cwd });
    expect(check(schemas, 'failure', stdout)).toBeUndefined();
    expect(check(schemas, 'runs list', stdout)).toBeDefined();
  });
});

/** What does not fit, or undefined. */
function check(schemas: Record<string, object>, line: string, text: string): unknown {
  const [group = '', word = ''] = line.split(' ');
  const schema = schemas[line] ?? schemas[`svc ${group} ${word}`] ?? schemas[`svc ${group}`];
  if (!schema) throw new Error(`There is no schema of "${line}".`);
  const parsed = z.fromJSONSchema(schema as never).safeParse(JSON.parse(text));
  return parsed.success ? undefined : `${text.slice(0, 300)} ${parsed.error.message}`;
}
