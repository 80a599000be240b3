/** One runtime per process: workspace modules get this process's own instance, never a second copy. */
export async function shareRuntime(): Promise<void> {
  const [index, internal] = await Promise.all([import('@svc/runtime'), import('@svc/runtime/internal')]);
  (globalThis as Record<symbol, unknown>)[Symbol.for('svc.runtime')] = { index, internal };
}
