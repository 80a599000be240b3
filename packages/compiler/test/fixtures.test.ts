import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkWorkspace } from '../src/check/check.ts';
import { FIXTURES } from './_setup.ts';

/** `UPDATE_FIXTURES=1` writes what a fixture answers; read the difference before you keep it. */
const isUpdate = process.env['UPDATE_FIXTURES'] === '1';

const withCode = ({ problem, ...entry }: { problem?: { code: string } }) => ({
  ...entry,
  problem: problem?.code ?? null,
});

describe('a fixture folder', () => {
  it.each(readdirSync(FIXTURES).sort())('%s answers its expected problems and manifest', async (name) => {
    const root = join(FIXTURES, name);
    const { manifest, problems } = await checkWorkspace({ root, imports: true });
    const answer = {
      problems: problems.map(({ code, message, file, line, column }) => ({ code, message, file, line, column })),
      agents: manifest.agents.map(({ problem, ...entry }) => ({ ...entry, problem: problem?.code ?? null })),
      workflows: manifest.workflows.map(({ problem, ...entry }) => ({ ...entry, problem: problem?.code ?? null })),
      ...(manifest.configSchema
        ? { configSchema: { ...manifest.configSchema, problem: manifest.configSchema.problem?.code ?? null } }
        : {}),
      ...(manifest.guardrails ? { guardrails: manifest.guardrails.map(withCode) } : {}),
      ...(manifest.connections ? { connections: manifest.connections.map(withCode) } : {}),
      ...(manifest.scorers ? { scorers: manifest.scorers.map(withCode) } : {}),
    };
    const file = join(root, 'expected.json');
    if (isUpdate) writeFileSync(file, `${JSON.stringify(answer, null, 2)}\n`);
    expect(existsSync(file)).toBe(true);
    expect(answer).toEqual(JSON.parse(readFileSync(file, 'utf8')));
    for (const { frame, line } of problems) expect(frame).toMatch(new RegExp(`^> *${line} \\|`, 'm'));
  });
});
