/** The machine's own clock and timers, taken before the guard patches anything: for the engine itself. */
export const real = {
  now: Date.now.bind(Date),
  nextTick: process.nextTick,
  setImmediate: globalThis.setImmediate,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  performanceNow: performance.now.bind(performance),
} as const;
