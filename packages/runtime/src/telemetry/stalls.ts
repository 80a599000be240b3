import { real } from '../engine/real.ts';

/** A time in which the event loop did nothing else: no request was answered, no timer fired, no lease was renewed. */
export interface Stall {
  ms: number;
  /** `machine`: this process hardly had a processor meanwhile; it was suspended, or others were busy. */
  cause: 'code' | 'machine';
}

/** What was under way: names of the program, and nothing of what it works on. */
export interface StallReport extends Stall {
  /** `<workflow>: <step>` of those that were under way, at its end too or until then. */
  steps: string[];
  /** `<method> <route>` of requests that were under way. */
  requests: string[];
  /** Stalls since the last report that were not reported. */
  unreported: number;
}

export interface StallWatchOptions {
  /** Every stall. */
  onStall(stall: Stall): void;
  /** One in ten seconds at most, and of those of a second or more another one; none that is the machine's. */
  onReport(report: StallReport): void;
  busySteps(most: number): string[];
  /** Milliseconds from which one is reported. Default: 50, those that are counted. */
  reportMs?: number;
  /** Milliseconds of processor time that this process has used. For tests. */
  cpuMs?(): number;
}

export interface StallWatch {
  /** A request has been answered. */
  answered(request: { method: string; route: string } & Span): void;
  /** An attempt of a step has ended. */
  attempted(step: { name: string } & Span): void;
  close(): void;
}

/** Milliseconds since 1970. */
interface Span {
  start: number;
  end: number;
}

/** Leases are renewed late then, and people notice. */
export function isLong({ ms }: Stall): boolean {
  return ms >= LONG_MS;
}

/** Notices stalls by a timer that comes late. */
export function createStallWatch(options: StallWatchOptions): StallWatch {
  const { onStall, onReport, busySteps, reportMs = LEAST_MS, cpuMs = readCpu } = options;
  let lookedAt = real.performanceNow();
  let usedAt = cpuMs();
  let pending: ({ report: StallReport; requests: Set<string>; steps: Set<string> } & Span) | undefined;
  let unreported = 0;
  const quietUntil = { short: 0, long: 0 };

  const send = (): void => {
    if (!pending) return;
    const { requests, steps } = pending;
    for (const name of busySteps(MOST_NAMES)) note(steps, name);
    onReport({ ...pending.report, requests: [...requests], steps: [...steps] });
    pending = undefined;
  };
  const note = (names: Set<string>, name: string): void => void (names.size < MOST_NAMES && names.add(name));
  const covers = ({ start, end }: Span): boolean =>
    pending !== undefined && start <= pending.end && end >= pending.start;
  const begin = (stall: Stall, now: number): void => {
    onStall(stall);
    if (stall.cause === 'machine' || stall.ms < reportMs) return;
    // A long one behind a short one is not left out for it.
    if (pending && isLong(stall) && !isLong(pending.report)) send();
    const length = isLong(stall) ? 'long' : 'short';
    if (pending || now < quietUntil[length]) return void (unreported += 1);
    quietUntil[length] = now + REPORT_EVERY_MS;
    const end = real.now();
    const report = { ...stall, steps: [], requests: [], unreported };
    pending = { report, start: end - stall.ms, end, requests: new Set(), steps: new Set() };
    unreported = 0;
    // What held it is answered, or recorded, in a moment, and named then.
    real.setTimeout(() => pending?.report === report && send(), GATHER_MS).unref();
  };
  let timer: ReturnType<typeof setTimeout>;
  const look = (): void => {
    const now = real.performanceNow();
    const used = cpuMs();
    const ms = Math.round(now - lookedAt - LOOK_MS);
    if (ms >= LEAST_MS) begin({ ms, cause: used - usedAt >= ms * BUSY_SHARE ? 'code' : 'machine' }, now);
    lookedAt = now;
    usedAt = used;
    arm();
  };
  const arm = (): void => void (timer = real.setTimeout(look, LOOK_MS).unref());
  arm();
  return {
    answered({ method, route, ...span }) {
      if (pending && covers(span)) note(pending.requests, `${method} ${route}`);
    },
    attempted({ name, ...span }) {
      if (pending && covers(span)) note(pending.steps, name);
    },
    close() {
      real.clearTimeout(timer);
      send();
    },
  };
}

// --- internal ---

const LONG_MS = 1_000;
const LEAST_MS = 50;
/** One that begins between two looks is seen as that much shorter. */
const LOOK_MS = 20;
const GATHER_MS = 500;
const REPORT_EVERY_MS = 10_000;
const MOST_NAMES = 5;
/** Where others are busy too, code that runs all the time still gets as much. */
const BUSY_SHARE = 0.2;

function readCpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
