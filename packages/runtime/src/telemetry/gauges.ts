import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Journal } from '../engine/journal.ts';
import { NOTIFY, RUN } from './names.ts';
import type { Description } from './tally.ts';

/** A figure that is looked up when it is asked for. */
export interface Gauge {
  description: Description;
  points: { labels: Record<string, string>; value: number }[];
}

export interface GaugeOptions {
  journal: Pick<Journal, 'code' | 'hooks' | 'listRuns' | 'notices' | 'queue' | 'tallyRuns'>;
  liveRuns(): number;
  openStreams(): number;
}

export interface Gauges {
  read(): Promise<Gauge[]>;
  stop(): void;
}

/** What the store knows is looked up once for all who ask within some seconds. A store that does not answer is left out. */
export function createGauges({ journal, liveRuns, openStreams }: GaugeOptions): Gauges {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  let stored: { until: number; gauges: Promise<Gauge[]> } | undefined;
  const readStored = (): Promise<Gauge[]> => {
    if (!stored || performance.now() > stored.until)
      stored = { until: performance.now() + KEPT_MS, gauges: readStore(journal).catch(() => []) };
    return stored.gauges;
  };
  return {
    async read() {
      const kept = await readStored();
      const lag = delay.count > 0 ? toLag(delay) : [];
      delay.reset();
      return [...kept, one(LIVE, liveRuns()), one(STREAMS, openStreams()), ...readMemory(), ...lag];
    },
    stop: () => void delay.disable(),
  };
}

// --- internal ---

const KEPT_MS = 5_000;
/** Beyond that it is "many": counting on would cost the store more than the figure is worth. */
const MOST = 1_000;
/** Wider than all of time: one stretch. */
const FOREVER_MS = 1e15;

const APPROVALS = { name: 'svc.approvals.pending', unit: '{approval}', text: `Approvals that wait, up to ${MOST}.` };
const QUEUE = {
  name: 'svc.queue.depth',
  unit: '{run}',
  text: `Runs that wait to begin, and starts that wait for a serial workflow, up to ${MOST}.`,
};
const BLOCKED = { name: 'svc.runs.blocked', unit: '{run}', text: `Runs that are blocked, the newest ${MOST}.` };
const FOR_CODE = {
  name: 'svc.runs.waiting_for_code',
  unit: '{run}',
  text: `Runs whose code is not kept or does not load, up to ${MOST}.`,
};
const PENDING = { name: 'svc.notify.pending', unit: '{message}', text: 'Messages that wait for a receiver of notify.' };
const FAILING = {
  name: 'svc.notify.failures',
  unit: '{message}',
  text: 'Attempts in a row that a receiver of notify failed.',
};
const LIVE = { name: 'svc.runs.live', unit: '{run}', text: 'Runs in the memory of this process.' };
const STREAMS = {
  name: 'svc.streams.open',
  unit: '{stream}',
  text: 'Answers that are still being streamed to clients.',
};
const MEMORY = { name: 'process.memory.usage', unit: 'By', text: 'Memory the process has of the system.' };
const HEAP = { name: 'v8js.memory.heap.used', unit: 'By', text: 'Memory of the heap in use.' };

async function readStore({
  code,
  hooks,
  listRuns,
  notices,
  queue,
  tallyRuns,
}: GaugeOptions['journal']): Promise<Gauge[]> {
  const [asked, queued, starts, blocked, forCode, messages, failing] = await Promise.all([
    hooks.listBriefEntries({ kind: 'approval', isPending: true }, { limit: MOST }),
    tallyRuns({ status: 'queued' }, FOREVER_MS),
    queue.list({}, { limit: MOST }),
    listRuns({ status: 'blocked' }, { limit: MOST }),
    code.countWaiting(MOST),
    notices.countPending(),
    notices.listFailing(),
  ]);
  const points = [
    { labels: { 'svc.queue.name': 'runs' }, value: queued.reduce((sum, { count }) => sum + Number(count), 0) },
    { labels: { 'svc.queue.name': 'serial' }, value: starts.length },
  ];
  const ofReceivers = (description: Description, given: { receiver: string; count: number }[]): Gauge => ({
    description,
    points: given.map(({ receiver, count: value }) => ({ labels: { [NOTIFY.receiver]: receiver }, value })),
  });
  return [
    one(APPROVALS, asked.length),
    { description: QUEUE, points },
    byName(BLOCKED, countByName(blocked)),
    byName(FOR_CODE, forCode),
    ofReceivers(PENDING, messages),
    ofReceivers(
      FAILING,
      failing.map(({ receiver, failures: count }) => ({ receiver, count })),
    ),
  ];
}

interface Counted {
  kind: string;
  name: string;
  count: number;
}

/** 0 of none, so that an alert on it has something to compare with. */
function byName(description: Description, counts: Counted[]): Gauge {
  const points = counts.map(({ kind, name, count: value }) => ({
    labels: { [RUN.kind]: kind, [RUN.name]: name },
    value,
  }));
  return { description, points: points.length > 0 ? points : [{ labels: {}, value: 0 }] };
}

function countByName(runs: { kind: string; name: string }[]): Counted[] {
  const counts = new Map<string, Counted>();
  for (const { kind, name } of runs) counts.set(name, { kind, name, count: (counts.get(name)?.count ?? 0) + 1 });
  return [...counts.values()];
}

function readMemory(): Gauge[] {
  const { rss, heapUsed } = process.memoryUsage();
  return [one(MEMORY, rss), one(HEAP, heapUsed)];
}

/** How late the event loop came, since it was last asked. */
function toLag(delay: { mean: number; max: number; percentile(p: number): number }): Gauge[] {
  const lags = { mean: delay.mean, max: delay.max, p50: delay.percentile(50), p99: delay.percentile(99) };
  return Object.entries(lags).map(([which, nanoseconds]) =>
    one(
      { name: `nodejs.eventloop.delay.${which}`, unit: 's', text: `Delay of the event loop: ${which}.` },
      nanoseconds / 1e9,
    ),
  );
}

function one(description: Description, value: number): Gauge {
  return { description, points: [{ labels: {}, value }] };
}
