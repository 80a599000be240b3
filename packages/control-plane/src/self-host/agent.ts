import { z } from 'zod';

/** What the box says of itself. */
export interface AgentReport {
  reachable: boolean;
  /** The protocol version it speaks. Null: it does not say. */
  contract: number | null;
  build: { name: string; version: string } | null;
}

/** Asks the box for its contract. However many ask at the same time, or within a second, it is asked once. */
export function createAgentProbe({ runtimeUrl }: { runtimeUrl: string }): () => Promise<AgentReport> {
  let round: { report: Promise<AgentReport>; endedAt: number } | undefined;
  return () => {
    if (round && performance.now() - round.endedAt < SHARED_MS) return round.report;
    const started = { report: askContract(runtimeUrl), endedAt: Infinity };
    void started.report.finally(() => (started.endedAt = performance.now()));
    round = started;
    return started.report;
  };
}

// --- internal ---

const SHARED_MS = 1_000;
const PATIENCE_MS = 3_000;
const MOST_BYTES = 65_536;

const Contract = z.object({
  version: z.int(),
  build: z.object({ name: z.string().max(200), version: z.string().max(200) }),
});

async function askContract(runtimeUrl: string): Promise<AgentReport> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await fetch(`${runtimeUrl}/api/contract`, { signal, redirect: 'error' });
    const text = await readText(answer);
    const { success, data } = Contract.safeParse(answer.ok ? parse(text) : undefined);
    return success
      ? { reachable: true, contract: data.version, build: data.build }
      : { reachable: true, contract: null, build: null };
  } catch {
    return { reachable: false, contract: null, build: null };
  }
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MOST_BYTES) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
