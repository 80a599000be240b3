import { currentContext } from '../context.ts';
import { parseWakeTime } from '../duration.ts';
import { encode } from '../serialize.ts';

/**
 * Waits without holding anything: a sleeping run lives on disk only, and ends its sleep on time after any restart.
 * @param duration milliseconds, text such as `'10s'` or `'2 days'`, or the Date to wait for
 * Outside a workflow body it throws.
 */
export async function sleep(duration: number | string | Date): Promise<void> {
  const context = currentContext();
  if (context?.kind !== 'body')
    throw new Error('sleep() works in a workflow body. In a step or a tool, await a timer of your own.');
  parseWakeTime(duration, 0);
  await context.execution.invoke({
    kind: 'sleep',
    stepId: 'sleep',
    input: encode({ duration }, 'sleep'),
    action: { type: 'timer', wakeAt: (now) => parseWakeTime(duration, now) },
  });
}
