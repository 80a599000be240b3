import { resolve } from 'node:path';
import type { Contract } from '@svc/runtime/host';
import { DEV_PAYLOAD, LOG_LINE } from '../dev/payload.ts';
import type { DevServer } from '../dev/start.ts';
import { answerOf, union } from '../payload/payload.ts';
import { parsePort } from '../port.ts';
import { defineVerb } from '../verb.ts';
import type { Answer } from '../verb.ts';

export const dev = defineVerb({
  examples: ['svc dev', 'svc dev ./playground --port 4300'],
  args: {
    dir: { type: 'positional', default: '.', description: 'The workspace folder. Default: this one.' },
    port: { type: 'string', description: 'The port of the API, 1 to 65535. Default 4242.' },
    listen: { type: 'boolean', default: false, description: 'Bind 0.0.0.0 instead of 127.0.0.1.' },
    'print-contract': { type: 'boolean', default: false, description: 'Print the contract of this version and exit.' },
    'auto-migrate': {
      type: 'boolean',
      description: 'Generate and apply a migration when src/schema.ts is edited. Default: dev.autoMigrate of svc.json.',
      negativeDescription: 'Leave migrations alone.',
    },
    yes: { type: 'boolean', default: false, description: 'Ask nothing.' },
  },
  payload: union(DEV_PAYLOAD, answerOf('contract.get', 'With --print-contract.')),
  stderr: LOG_LINE,
  mayBeEmpty: ['port'],
  async run(args, context) {
    const port = args.port === undefined ? undefined : parsePort(args.port, 'svc dev --port 4243');
    if (args['print-contract']) return printContract();
    const root = resolve(context.cwd, args.dir);
    const { checkFolder } = await import('../dev/project.ts');
    checkFolder(root, 'svc dev');
    const [{ linkForDev }, { readEnvFile }] = await Promise.all([
      import('../account/dev-link.ts'),
      import('../dev/env-file.ts'),
    ]);
    const mayAsk = context.mayAsk && !args.yes && !context.env.CI;
    const linked = await linkForDev({ root, mayAsk, fromFile: readEnvFile(root).values }, context);
    const autoMigrate = args['auto-migrate'];
    const { startDev } = await import('../dev/start.ts');
    const server = await startDev({
      root,
      listen: args.listen,
      json: context.json,
      verbose: context.verbose,
      ...(linked ? { linked } : {}),
      ...(port === undefined ? {} : { port }),
      ...(autoMigrate === undefined ? {} : { autoMigrate }),
    });
    return { data: server.payload, human: () => server.banner.join('\n'), closed: waitForEnd(server, context.signal) };
  },
});

// --- internal ---

/** Stops the server on Ctrl-C, one pressed while it booted included. A server that cannot stop ends the command too. */
function waitForEnd(server: DevServer, signal: AbortSignal): Promise<number> {
  const failed = new Promise<never>((_, reject) => {
    const stop = () => server.close().catch(reject);
    if (signal.aborted) void stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([server.closed, failed]);
}

async function printContract(): Promise<Answer<Contract>> {
  const { contractPayload } = await import('@svc/runtime/host');
  const contract = contractPayload();
  return { data: contract, human: () => JSON.stringify(contract, null, 2) };
}
