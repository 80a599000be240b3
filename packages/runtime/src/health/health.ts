export type CheckResult = { status: 'ok' } | { status: 'failed'; reason: string };
export type Probe = () => Promise<void>;

export interface ServicesInfo {
  database: { url: string | null };
  storage: { endpoint: string; bucket: string; region: string; accessKeyId: string; forcePathStyle: boolean } | null;
  agent: { url: string };
}

export interface HealthOptions {
  host: 'dev' | 'image';
  slug: string;
  probes: Record<string, Probe>;
  services(): ServicesInfo;
}

export interface Health {
  identity(): { host: 'dev' | 'image'; slug: string };
  /** Runs every probe at once; a probe that takes longer than 5 seconds has failed. */
  check(): Promise<{ status: 'ok' | 'degraded'; checks: Record<string, CheckResult> }>;
  services(): ServicesInfo;
}

const PROBE_MS = 5_000;

export function createHealth(options: HealthOptions): Health {
  return {
    identity: () => ({ host: options.host, slug: options.slug }),
    services: options.services,
    async check() {
      const entries = Object.entries(options.probes);
      const results = await Promise.all(entries.map(([, probe]) => runProbe(probe)));
      const checks = Object.fromEntries(entries.map(([name], index) => [name, results[index] as CheckResult]));
      const ok = results.every(({ status }) => status === 'ok');
      return { status: ok ? 'ok' : 'degraded', checks };
    },
  };
}

// --- internal ---

async function runProbe(probe: Probe): Promise<CheckResult> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${PROBE_MS / 1_000} seconds.`)), PROBE_MS);
  });
  try {
    await Promise.race([probe(), late]);
    return { status: 'ok' };
  } catch (error) {
    return { status: 'failed', reason: reasonOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

/** The sentence for callers, and what is behind it: which connection, refused how. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, message } = error;
  return cause instanceof Error && cause.message !== '' ? `${message} (${cause.message})` : message;
}
