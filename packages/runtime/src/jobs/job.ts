import { z } from 'zod';
import type { Firing, Schedule } from '../engine/journal/schedules.ts';
import { decode } from '../engine/serialize.ts';
import { toIso, toShownValue } from '../json-value.ts';
import { findWait, isWait } from './wait.ts';

const JobError = z.object({ code: z.string(), message: z.string() });

/** A timer as every surface shows it. */
export const Job = z.object({
  id: z.string().describe('`<workflow>:<number or name>` of a declared one, `<workflow>@<name>` of one that code made'),
  workflow: z.string(),
  origin: z.enum(['declared', 'made']).describe('Declared by the workflow, or made by code that ran'),
  cron: z.string().nullable().describe('Null: it fires once'),
  timeZone: z.string().nullable(),
  input: z.unknown(),
  isPaused: z.boolean(),
  nextFireAt: z.iso.datetime().nullable().describe('Null while paused, and once it has fired its one time'),
  waitingFor: JobError.nullable().describe('Why it is due and has not fired yet: no running replica can start it'),
  lastFiredAt: z.iso.datetime().nullable(),
  lastRunId: z.string().nullable(),
  lastOutcome: z.string().nullable().describe('Status of the run it last started; `refused`: nothing was started'),
  lastError: JobError.nullable().describe('Why it last started nothing'),
});
export type Job = z.infer<typeof Job>;

export const JobDetail = Job.extend({
  firings: z
    .array(
      z.object({
        at: z.iso.datetime(),
        runId: z.string().nullable(),
        outcome: z.string().nullable(),
        error: JobError.nullable(),
      }),
    )
    .describe('The last 20, newest first'),
});
export type JobDetail = z.infer<typeof JobDetail>;

/** @param now by the clock of the store */
export function toJob(schedule: Schedule, now: number): Job {
  const { id, name, origin, cron, timeZone, input, isPaused, nextAt, lastAt, lastRunId, lastStatus } = schedule;
  const lastError = toJobError(schedule.lastError);
  return {
    id,
    workflow: name,
    origin,
    cron,
    timeZone,
    input: toShownValue(input),
    isPaused,
    nextFireAt: isPaused || nextAt === null ? null : toIso(nextAt),
    waitingFor: findWait(schedule, now) ?? null,
    lastFiredAt: lastAt === null ? null : toIso(lastAt),
    lastRunId,
    lastOutcome: outcomeOf(lastStatus, lastError),
    lastError,
  };
}

export function toJobDetail(schedule: Schedule, firings: readonly Firing[], now: number): JobDetail {
  return {
    ...toJob(schedule, now),
    firings: firings.map(({ at, runId, status, error: text }) => {
      const error = toJobError(text);
      return { at: toIso(at), runId, outcome: outcomeOf(status, error), error };
    }),
  };
}

// --- internal ---

function outcomeOf(status: string | null, error: object | null): string | null {
  return error === null ? status : 'refused';
}

function toJobError(text: string | null): z.infer<typeof JobError> | null {
  if (text === null) return null;
  const error = decode(text);
  if (isWait(error)) return null;
  const { code = 'internal', message } = error as { code?: string; message: string };
  return { code, message };
}
