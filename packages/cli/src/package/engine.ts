import { spawn } from 'node:child_process';
import { CliError } from '../errors.ts';
import type { Context } from '../context.ts';

/** A program that keeps and saves images. */
export interface Engine {
  name: string;
  /** Writes images to a docker-archive, those that are not here pulled before. Throws `package_failed`. */
  save(images: readonly string[], target: string): Promise<void>;
}

/** The first container runtime that works here, found by asking each. Throws `container_runtime_missing`. */
export async function findEngine(context: Context): Promise<Engine> {
  const reasons: string[] = [];
  for (const { name, probe, save } of ENGINES) {
    const { ok, reason } = await run([name, ...probe], context, PROBE_MS);
    if (ok) return { name, save: (images, target) => saveImages({ name, save, images, target }, context) };
    reasons.push(`${name}: ${reason}`);
  }
  throw new CliError(
    'container_runtime_missing',
    `--offline saves images, and no container runtime works here. ${reasons.join(' ')}`,
    { suggestion: 'Start docker or podman, or pass --base-archive <tar>, which needs neither.' },
  );
}

// --- internal ---

/** The question that only a runtime answers which works: a client without its daemon fails at it. */
const ENGINES = [
  { name: 'docker', probe: ['version', '--format', '{{.Server.Version}}'], save: ['save'] },
  { name: 'podman', probe: ['info'], save: ['save', '--format', 'docker-archive', '--multi-image-archive'] },
] as const;

const PROBE_MS = 20_000;

interface Saving {
  name: string;
  save: readonly string[];
  images: readonly string[];
  target: string;
}

async function saveImages({ name, save, images, target }: Saving, context: Context): Promise<void> {
  for (const image of images) {
    if ((await run([name, 'image', 'inspect', image], context)).ok) continue;
    context.progress(`Pulling ${image}`);
    const { ok, reason } = await run([name, 'pull', image], context);
    if (ok) continue;
    throw new CliError('package_failed', `The image "${image}" is not here and cannot be pulled. ${reason}`, {
      suggestion: 'Build or load it first, or name another with --base.',
    });
  }
  context.progress(`Saving ${images.join(', ')}`);
  const { ok, reason } = await run([name, ...save, '-o', target, ...images], context);
  if (!ok) throw new CliError('package_failed', `${name} could not save ${images.join(', ')}. ${reason}`);
}

interface Outcome {
  ok: boolean;
  /** A sentence, where it is not. */
  reason: string;
}

function run([command = '', ...args]: readonly string[], context: Context, timeout?: number): Promise<Outcome> {
  const { env, signal, trace } = context;
  trace(`$ ${command} ${args.join(' ')}`);
  const child = spawn(command, args, {
    env,
    signal,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(timeout ? { timeout } : {}),
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)));
  return new Promise((done) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      done({ ok: false, reason: error.code === 'ENOENT' ? 'Not installed.' : `${error.message}.` }),
    );
    child.on('close', (code) => done({ ok: code === 0, reason: toSentence(said, code) }));
  });
}

/** The last line it wrote, which is where these programs say what is wrong. */
function toSentence(said: string, code: number | null): string {
  const line =
    said.trim().split('\n').at(-1)?.trim() || (code === null ? 'It did not answer.' : `It ended with ${code}.`);
  return /[.?!]$/.test(line) ? line : `${line}.`;
}
