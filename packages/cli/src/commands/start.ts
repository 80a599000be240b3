import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { BrokenVariable, RunningBox } from '@svc/runtime/host';
import { GATE, LOG_LINE } from '../dev/payload.ts';
import { docsPath } from '../workspace/docs-path.ts';
import { CliError, EXIT } from '../errors.ts';
import { array, object, string } from '../payload/payload.ts';
import { defineVerb } from '../verb.ts';
import { DIR_ARG, resolveWorkspace } from '../workspace/workspace.ts';
import { DEFAULT_OUT } from './build.ts';

export const start = defineVerb({
  examples: ['svc start', 'svc start ./playground --out ./out'],
  args: {
    dir: DIR_ARG,
    out: { type: 'string', default: DEFAULT_OUT, description: 'The folder of the bundle, from the workspace.' },
  },
  completes: { out: { paths: 'folders' } },
  payload: object({
    agent_url: string('The address of the API.'),
    installation_id: string('The id of this installation.'),
    gate: GATE,
    deep_agents: array(string(), 'The names of the agents served; none while the gate is closed.'),
    workflows: array(string(), 'The names of the workflows, those that do not run included.'),
  }),
  stderr: LOG_LINE,
  elsewhere: { port: 'Set the variable PORT: PORT=8080 svc start' },
  async run({ dir, out }, context) {
    const root = resolveWorkspace(dir, context, 'svc start');
    const { boot, createForker, takeOwnSecrets } = await import('@svc/runtime/host');
    process.setSourceMapsEnabled(true);
    const bundleDir = resolve(root, out);
    const module = join(dirname(createRequire(import.meta.url).resolve('@svc/runtime/package.json')), 'bin.mjs');
    // Before a module of the workspace is loaded.
    const env = takeOwnSecrets(context.env);
    const isolate = createForker({ module, args: [bundleDir], env });
    const running = await boot({ env, bundleDir, isolate }).catch((error: unknown) => {
      throw toCliError(error);
    });
    const { box, url, identity } = running;
    const data = {
      agent_url: url,
      installation_id: identity.installationId,
      gate: box.gate.state(),
      deep_agents: box.agentNames(),
      workflows: box.workflowNames(),
    };
    return {
      data,
      human: () =>
        `${url}  agents: ${data.deep_agents.join(', ') || 'none'}  workflows: ${data.workflows.join(', ') || 'none'}`,
      closed: waitForEnd(running, context.signal),
    };
  },
});

// --- internal ---

async function waitForEnd(running: RunningBox, signal: AbortSignal): Promise<number> {
  if (!signal.aborted) await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
  await running.close();
  return EXIT.ok;
}

const SUGGESTIONS: Record<string, string> = {
  environment_invalid: `Set them, then start again; ${docsPath('guide/deploy.md')} has them all.`,
  bundle_invalid: 'Run `svc build`, then start again.',
  port_busy: 'Stop the other process, or set PORT to another port.',
  database_newer: 'Start the bundle that used it, or a later one.',
  migration_changed: 'Bring the file back, then run `svc build` and start again.',
  migration_failed: 'Correct the migration, then run `svc build` and start again.',
  store_unavailable: 'Start the database DATABASE_URL names, or correct the address.',
};

/** The box says what keeps it from starting in sentences of its own, the environment as one report. */
function toCliError(error: unknown): unknown {
  const { code, message, details } = error as {
    code?: unknown;
    message: string;
    details?: { variables?: BrokenVariable[] };
  };
  if (typeof code !== 'string' || !/^[a-z_]+$/.test(code)) return error;
  return new CliError(code.startsWith('port_') ? 'generic' : code, message, {
    exitCode: EXIT.generic,
    ...(SUGGESTIONS[code] ? { suggestion: SUGGESTIONS[code] } : {}),
    ...(details ? { details } : {}),
  });
}
