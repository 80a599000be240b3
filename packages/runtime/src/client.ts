import { openSession } from './agent-client.ts';
import type { AgentSession, AnswerOf } from './agent-client.ts';
import type { KnownAgent } from './agents/definition.ts';
import { startWorkflow, startWorkflowAndWait } from './engine/ambient.ts';
import type { ScheduledWorkflow, StartedWorkflow } from './engine/handle.ts';
import { scheduleWorkflow, unscheduleWorkflow } from './engine/schedule.ts';
import type { ScheduleOptions } from './engine/schedule.ts';
import type { WorkflowName, WorkflowRegister } from './register.ts';

/** The workspace's own names once its types are generated; any text before. */
type Name = [WorkflowName] extends [never] ? string : WorkflowName;
type InputOf<N extends string> = N extends keyof WorkflowRegister
  ? WorkflowRegister[N] extends { input: infer I }
    ? I
    : unknown
  : unknown;
type OutputOf<N extends string> = N extends keyof WorkflowRegister
  ? WorkflowRegister[N] extends { output: infer O }
    ? O
    : unknown
  : unknown;

/** What a workflow, a step or a tool can reach of the box it runs in. */
export const svc = {
  /** An agent of this box, to talk to: `svc.agent('support').session().send('Hello')`. */
  agent: <N extends KnownAgent>(name: N) => ({
    /** @param id names the conversation; the same name goes on with it in any run. Default: a new one */
    session: (id?: string): AgentSession<AnswerOf<N>> => openSession(name, id),
  }),
  workflows: {
    /** Starts another workflow. Its run is cancelled with this one. In a workflow body it is recorded, so it starts once. */
    start: <N extends Name>(name: N, input: InputOf<N>): Promise<StartedWorkflow> => startWorkflow(name, input),
    /** Starts another workflow and answers its output; what ends it otherwise is thrown, with its error as the cause. */
    startAndWait: <N extends Name>(name: N, input: InputOf<N>): Promise<OutputOf<N>> =>
      startWorkflowAndWait(name, input) as Promise<OutputOf<N>>,
    /**
     * Arms a timer that starts a workflow, again and again (`cron`) or once (`at`, `in`). It outlives this run, is among the
     * recurring jobs, and is armed once however often the code is repeated.
     */
    schedule: <N extends Name>(name: N, input: InputOf<N>, options: ScheduleOptions): Promise<ScheduledWorkflow> =>
      scheduleWorkflow(name, input, options),
    /** Removes a timer that `schedule` made, by its id. False: there is none (any more). */
    unschedule: (id: string): Promise<boolean> => unscheduleWorkflow(id),
  },
};
