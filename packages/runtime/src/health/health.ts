import type { Log } from '../log.ts';
import { ProbeTimeout, toReason } from './reason.ts';

export type CheckResult = { status: 'ok'; warning?: string } | { status: 'failed'; reason: string };
/** Rejects while the subsystem does not work. A sentence it answers says what to change about one that does. */
export type Probe = () => Promise<string | void>;

export interface ServicesInfo {
  database: { url: string | null };
  storage: { endpoint: string; bucket: string; region: string; accessKeyId: string; forcePathStyle: boolean } | null;
  agent: { url: string };
}

export interface HealthOptions {
  host: 'dev' | 'image';
  slug: string;
  log: Log;
  probes: Record<string, Probe>;
  services(): ServicesInfo;
}

export interface Report {
  status: 'ok' | 'degraded';
  checks: Record<string, CheckResult>;
}

export interface Health {
  identity(): { host: 'dev' | 'image'; slug: string };
  /**
   * Runs every probe at once; a probe that takes longer than 5 seconds has failed. Who asks meanwhile, or within a second,
   * is answered the same: however many ask, the stores are asked once.
   */
  check(): Promise<Report>;
  services(): ServicesInfo;
}

const PROBE_MS = 5_000;
const SHARED_MS = 1_000;

export function createHealth(options: HealthOptions): Health {
  const { log, probes } = options;
  let round: { report: Promise<Report>; endedAt: number } | undefined;
  /** What was logged last of each: a store that is away for an hour is no thousand lines. */
  const logged = new Map<string, string>();

  const probe = async (name: string, run: Probe): Promise<[string, CheckResult]> => {
    try {
      const warning = await withinTime(run);
      logged.delete(name);
      return [name, { status: 'ok', ...(warning ? { warning } : {}) }];
    } catch (error) {
      const reason = toReason(error);
      const { cause } = Object(error) as { cause?: unknown };
      if (logged.get(name) !== reason) log.warn('A subsystem does not work.', { check: name, reason, error, cause });
      logged.set(name, reason);
      return [name, { status: 'failed', reason }];
    }
  };
  const runRound = async (): Promise<Report> => {
    const results = await Promise.all(Object.entries(probes).map(([name, run]) => probe(name, run)));
    const isOk = results.every(([, { status }]) => status === 'ok');
    return { status: isOk ? 'ok' : 'degraded', checks: Object.fromEntries(results) };
  };
  return {
    identity: () => ({ host: options.host, slug: options.slug }),
    services() {
      const services = options.services();
      return { ...services, database: { url: withoutPassword(services.database.url) } };
    },
    check() {
      if (round && performance.now() - round.endedAt < SHARED_MS) return round.report;
      const started = { report: runRound(), endedAt: Infinity };
      void started.report.finally(() => (started.endedAt = performance.now()));
      round = started;
      return started.report;
    },
  };
}

// --- internal ---

/** An address that cannot be read is left out. */
function withoutPassword(address: string | null): string | null {
  if (address === null || !URL.canParse(address)) return null;
  const url = new URL(address);
  url.password = '';
  url.searchParams.delete('password');
  return url.href;
}

async function withinTime(probe: Probe): Promise<string | void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new ProbeTimeout(`No answer within ${PROBE_MS / 1_000} seconds.`);
    timer = setTimeout(() => reject(error), PROBE_MS);
  });
  try {
    return await Promise.race([probe(), late]);
  } finally {
    clearTimeout(timer);
  }
}
