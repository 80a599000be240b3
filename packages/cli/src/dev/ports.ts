import { usageError } from '../errors.ts';

export interface Ports {
  api: number;
  postgres: number;
  objects: number;
}

/** Below 32768: from there on Linux takes ports for connections that go out, and one of them may be ours. */
const DEFAULTS: Ports = { api: 4242, postgres: 15_432, objects: 9_000 };

/** The ports of a dev box: SVC_DEV_PORT_OFFSET shifts all of them, `--port` sets the API's alone. */
export function readPorts(env: NodeJS.ProcessEnv, port: number | undefined): Ports {
  const offset = readOffset(env.SVC_DEV_PORT_OFFSET);
  return {
    api: port ?? DEFAULTS.api + offset,
    postgres: DEFAULTS.postgres + offset,
    objects: DEFAULTS.objects + offset,
  };
}

// --- internal ---

function readOffset(text = ''): number {
  if (text.trim() === '') return 0;
  const offset = Number(text);
  const fits = Object.values(DEFAULTS).every((base) => base + offset >= 1 && base + offset <= 65_535);
  if (Number.isInteger(offset) && fits) return offset;
  throw usageError(
    `SVC_DEV_PORT_OFFSET is "${text}"; it must be a whole number that keeps every port within 1 to 65535.`,
    'For example: SVC_DEV_PORT_OFFSET=100 svc dev',
  );
}
