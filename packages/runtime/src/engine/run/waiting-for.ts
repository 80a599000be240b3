import type { Call } from '../call.ts';
import type { HookKind } from '../journal/hooks.ts';
import { decode } from '../serialize.ts';

/** What a waiting run says about itself: of several waits the one that can end first, a time before anything else. */
export interface WaitingFor {
  type: 'sleep' | 'retry' | 'hook' | 'webhook' | 'approval' | 'event' | 'child';
  /** ISO 8601, where the wait ends by itself. */
  until?: string;
  step: string;
  title?: string;
  runId?: string;
  /** Of a child that still waits for its lock. */
  triggerId?: string;
}

/** Of a run whose body has ended: it does, once those it has started to be waited for have. */
export const FOR_CHILDREN = JSON.stringify({ type: 'children' });

/** @param wakeAt when the first timer is due; undefined: no timer is set */
export function describeWait(call: Call, wakeAt: number | undefined): WaitingFor {
  const until = wakeAt === undefined ? {} : { until: new Date(wakeAt).toISOString() };
  const { action } = call;
  if (action.type === 'run') return { type: 'retry', step: call.stepId, ...until };
  if (action.type === 'timer') return { type: 'sleep', step: call.stepId, ...until };
  if (action.type === 'child') return { type: 'child', step: call.stepId, ...action.child };
  const { kind, title } = decode(call.input) as { kind: HookKind; title?: string };
  return { type: kind, step: call.stepId, ...(title === undefined ? {} : { title }), ...until };
}
