import { listen, planeStrategy, readVariable } from '@svc/runtime/host';
import type { Box, BoxOptions, Log } from '@svc/runtime/host';
import type { LinkedWorkspace } from '../../account/dev-link.ts';
import { keepAttached, formatEnd } from './keep.ts';
import { runProgram } from './program.ts';

/** The public address of a box under development. */
export interface Tunnel {
  /** What the box lets in that comes through it. */
  access: NonNullable<BoxOptions['tunnel']>;
  /** Opens it, or says why it is not open. Undefined: it is not. */
  open(app: Box['app']): Promise<OpenTunnel | undefined>;
  /** Whatever is open of it. */
  close(): Promise<void>;
}

export interface OpenTunnel {
  publicUrl: string;
  /** Where the control plane shows the box. */
  deeplink: string;
}

export interface TunnelOptions {
  linked: LinkedWorkspace;
  env: NodeJS.ProcessEnv;
  log: Log;
  /** Pages that may call besides those of the control plane. */
  corsOrigins(): readonly string[];
  say(line: string): void;
  /** Milliseconds it is kept open. */
  lifetimeMs?: number;
}

export function createTunnel(options: TunnelOptions): Tunnel {
  const { linked, env, log, say, lifetimeMs = LIFETIME_MS } = options;
  const { endpoint: issuer, installationId } = linked.link;
  const closing: (() => Promise<unknown> | void)[] = [];
  let host: string | undefined;

  const close = async (): Promise<void> => {
    for (let end = closing.pop(); end; end = closing.pop()) await end();
  };
  const open = async (app: Box['app']): Promise<OpenTunnel> => {
    const granted = await askForTunnel(linked);
    const { publicUrl, relayUrl, token, deeplink } = granted;
    host = hostname(new URL(publicUrl).host);
    const listener = await listen(app, { port: 0, host: '127.0.0.1', isTunnel: true });
    closing.push(() => listener.close());
    const bin = readVariable(env, 'SVC_FRPC_BIN');
    const carry = { relayUrl, token, port: listener.port, say };
    closing.push(
      bin === undefined ? await keepAttached({ ...carry, publicUrl }) : await runProgram({ ...carry, bin, env }),
    );
    const timer = setTimeout(() => {
      void close();
      say(formatEnd(publicUrl, 'a tunnel is valid for 8 hours.'));
    }, lifetimeMs);
    closing.push(() => clearTimeout(timer));
    return { publicUrl, deeplink };
  };

  return {
    access: {
      strategy: planeStrategy({ issuer, installationId, log }),
      isAllowedHost: (asked) => host !== undefined && hostname(asked) === host,
      corsOrigins: () => [...options.corsOrigins(), new URL(issuer).origin],
    },
    async open(app) {
      try {
        return await open(app);
      } catch (error) {
        await close();
        say(`There is no tunnel: ${(error as Error).message} The box runs without it.`);
        return undefined;
      }
    },
    close,
  };
}

// --- internal ---

/** The relay ends a tunnel after 8 hours; this is for one that does not. */
const LIFETIME_MS = 8 * 3_600_000 + 60_000;

interface Granted {
  publicUrl: string;
  relayUrl: string;
  token: string;
  deeplink: string;
}

async function askForTunnel({ link, session }: LinkedWorkspace): Promise<Granted> {
  const path = `/api/v1/installations/${encodeURIComponent(link.installationId)}/tunnel`;
  const { publicUrl, relayUrl, token, deeplink } = await session.request<Partial<Granted>>({ method: 'POST', path });
  if (isUrl(publicUrl, /^https?:/) && isUrl(relayUrl, /^wss?:/) && isUrl(deeplink, /^https?:/) && token)
    return { publicUrl, relayUrl, token, deeplink };
  throw new Error(`${link.endpoint} answers with no tunnel.`);
}

function isUrl(text: string | undefined, scheme: RegExp): text is string {
  return text !== undefined && URL.canParse(text) && scheme.test(text);
}

/** Whatever the port: a proxy in front has its own. */
function hostname(host: string): string {
  return host.toLowerCase().replace(/\.?(?::\d+)?$/, '');
}
