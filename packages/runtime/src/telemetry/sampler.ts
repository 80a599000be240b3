/** The samplers of OTEL_TRACES_SAMPLER that need no other service. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

/** Whether a trace is exported. The same in every process that knows its id. */
export type Sampler = (traceId: string, parent?: { isSampled: boolean }) => boolean;

export function createSampler(name: SamplerName, ratio: number): Sampler {
  const isParentBased = name.startsWith('parentbased_');
  const root = name.replace('parentbased_', '');
  const isSampled = (traceId: string): boolean => {
    if (root === 'traceidratio') return randomnessOf(traceId) < ratio;
    return root === 'always_on';
  };
  return (traceId, parent) => (isParentBased && parent ? parent.isSampled : isSampled(traceId));
}

// --- internal ---

/** From 0 to 1, of the last 56 bits: the first of a run's id are its time. */
function randomnessOf(traceId: string): number {
  return Number.parseInt(traceId.slice(-14), 16) / 2 ** 56;
}
