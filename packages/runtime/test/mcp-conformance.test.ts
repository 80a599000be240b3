import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createHostCheck } from '../src/http/hosts.ts';
import { openMcpBox } from './_mcp.ts';
import { setupBoxes } from './_setup.ts';

const boxes = setupBoxes();

/** Scenarios of the official suite whose subject the box has. */
const APPLY = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

/** These look first, and warn of a server without sessions that it has no stream to come back to. */
const SILENT = ['server-sse-polling', 'server-sse-multiple-streams'];

const FIXTURE_TOOL = 'calls a tool of the reference server, which the box does not have';
const NO_RESOURCES = 'the box offers no resources';
const NO_PROMPTS = 'the box offers no prompts: those of agents are operations';

/** The others, which must fail, and why. One that passes is found, too. */
const NOT_HERE: Record<string, string> = {
  'logging-set-level': 'the box sends no log messages over MCP: the revision of 2026 has none to set a level of',
  'completion-complete': 'there are no prompts or resource templates whose arguments could be completed',
  'tools-call-simple-text': FIXTURE_TOOL,
  'tools-call-image': FIXTURE_TOOL,
  'tools-call-audio': FIXTURE_TOOL,
  'tools-call-embedded-resource': FIXTURE_TOOL,
  'tools-call-mixed-content': FIXTURE_TOOL,
  'tools-call-with-logging': FIXTURE_TOOL,
  'tools-call-error': FIXTURE_TOOL,
  'tools-call-with-progress': FIXTURE_TOOL,
  'tools-call-sampling': FIXTURE_TOOL,
  'tools-call-elicitation': FIXTURE_TOOL,
  'json-schema-2020-12': FIXTURE_TOOL,
  'elicitation-sep1034-defaults': FIXTURE_TOOL,
  'elicitation-sep1330-enums': FIXTURE_TOOL,
  'resources-list': NO_RESOURCES,
  'resources-read-text': NO_RESOURCES,
  'resources-read-binary': NO_RESOURCES,
  'resources-templates-read': NO_RESOURCES,
  'resources-subscribe': NO_RESOURCES,
  'resources-unsubscribe': NO_RESOURCES,
  'prompts-list': NO_PROMPTS,
  'prompts-get-simple': NO_PROMPTS,
  'prompts-get-with-args': NO_PROMPTS,
  'prompts-get-embedded-resource': NO_PROMPTS,
  'prompts-get-with-image': NO_PROMPTS,
};

test('the official conformance suite finds nothing wrong in what applies', { timeout: 60_000 }, async () => {
  const box = await openMcpBox(boxes, { isAllowedHost: createHostCheck({ listen: false }) });
  const { exitCode, outcomes, output } = await runSuite(`${await box.listen()}/mcp`);
  expect(Object.keys(outcomes).toSorted()).toEqual([...APPLY, ...SILENT, ...Object.keys(NOT_HERE)].toSorted());
  for (const name of APPLY) expect([name, outcomes[name]?.failed]).toEqual([name, 0]);
  expect(APPLY.filter((name) => outcomes[name]?.passed === 0)).toEqual([]);
  for (const name of SILENT) expect([name, outcomes[name]]).toEqual([name, { passed: 0, failed: 0 }]);
  // Zero: each failed scenario is one of those that do not apply, and none of those passed.
  expect([exitCode, output]).toEqual([0, output]);
});

// --- internal ---

interface Outcome {
  passed: number;
  failed: number;
}

async function runSuite(url: string) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-conformance-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const baseline = join(folder, 'baseline.yml');
  await writeFile(baseline, JSON.stringify({ server: [...SILENT, ...Object.keys(NOT_HERE)] }));
  const shim = new URL('./fixtures/conformance-node20.mjs', import.meta.url).href;
  const main = join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), 'dist/index.js');
  const args = ['server', '--url', url, '--suite', 'all', '--expected-failures', baseline, '--output-dir', folder];
  const { exitCode, output } = await new Promise<{ exitCode: number; output: string }>((resolve) => {
    execFile(process.execPath, ['--import', shim, main, ...args], { cwd: folder }, (error, stdout, stderr) =>
      resolve({ exitCode: error ? Number(error.code) : 0, output: stdout + stderr }),
    );
  });
  const lines = output.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed/gm);
  const outcomes: Record<string, Outcome> = {};
  for (const [, name = '', passed, failed] of lines)
    outcomes[name] = { passed: Number(passed), failed: Number(failed) };
  return { exitCode, output, outcomes };
}

const PACKAGE = '@modelcontextprotocol/conformance/package.json';
