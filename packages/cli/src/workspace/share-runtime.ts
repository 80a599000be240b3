/** One runtime per process: workspace modules get this process's own instance, never a second copy. */
export async function shareRuntime(): Promise<void> {
  const [index, internal] = await Promise.all([import('@svc/runtime'), import('@svc/runtime/internal')]);
  const shared = globalThis as Record<symbol, object | undefined>;
  const key = Symbol.for('svc.runtime');
  // What the runtime has added for modules of earlier versions stays.
  shared[key] = { ...shared[key], index, internal };
}
