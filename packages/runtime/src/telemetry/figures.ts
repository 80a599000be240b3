import type { PartCall } from '../ai/part-calls.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow, Tokens } from '../engine/journal/run.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import { codeOfError } from '../engine/run/outcome.ts';
import { modelOf } from '../limits/asked-model.ts';
import { agentOf, operationOf } from './model-call.ts';
import { ERROR_TYPE, GEN_AI, HTTP, NOTIFY, RUN, STALL, STEP } from './names.ts';
import { createCounter, createHistogram } from './tally.ts';
import type { Counter, Histogram } from './tally.ts';
import { readToolCall } from './tool-call.ts';

/** The figures of a box. Their labels are names of the program, and nothing that grows with its use. */
export interface Figures {
  readonly counters: readonly Counter[];
  readonly histograms: readonly Histogram[];
  started(run: RunRow): void;
  blocked(run: RunRow): void;
  ended(run: RunRow): void;
  notified(receiver: string, outcome: string): void;
  step(run: RunRow, record: JournalRecord, provider: string): void;
  /** A model call that is a part of a step. */
  part(call: PartCall, provider: string): void;
  /** The event loop did nothing else. */
  stalled(seconds: number, cause: string): void;
  request(answer: { method: string; route: string; status: number; seconds: number }): void;
}

export function createFigures(): Figures {
  const runs = createCounter(RUNS, [RUN.kind, RUN.name, RUN.status]);
  const stopped = createCounter(STOPPED, [RUN.kind, RUN.name, RUN.reason]);
  const notified = createCounter(NOTIFIED, [NOTIFY.receiver, NOTIFY.outcome]);
  const runDuration = createHistogram(RUN_DURATION, [RUN.kind, RUN.name, RUN.status], LONG_SECONDS);
  const steps = createCounter(STEPS, [RUN.name, STEP.kind, STEP.name, STEP.status]);
  const stepDuration = createHistogram(STEP_DURATION, [RUN.name, STEP.kind, STEP.name, STEP.status], STEP_SECONDS);
  const tokens = createHistogram(TOKENS, [...CHAT, GEN_AI.tokenType], TOKEN_COUNTS);
  const chat = createHistogram(CHAT_DURATION, [...CHAT, ERROR_TYPE], CHAT_SECONDS);
  const stalls = createHistogram(STALLS, [STALL.cause], STALL_SECONDS);
  const requests = createHistogram(REQUESTS, [HTTP.method, HTTP.route, HTTP.status], REQUEST_SECONDS);

  const model = ({ run, operation, model: asked, tokens: used, seconds, isFailed }: ModelFigures, provider: string) => {
    const labels = [operation, provider, asked, agentOf(run) ?? ''];
    chat.add([...labels, isFailed ? 'model_error' : ''], seconds);
    if (!used) return;
    tokens.add([...labels, 'input'], used.inputTokens);
    tokens.add([...labels, 'output'], used.outputTokens);
  };

  return {
    counters: [runs, stopped, steps, notified],
    histograms: [runDuration, stepDuration, tokens, chat, requests, stalls],
    started: ({ kind, name }) => runs.add([kind, name, 'started']),
    blocked: ({ kind, name }) => stopped.add([kind, name, 'blocked']),
    ended({ kind, name, status, startedAt, endedAt, error }) {
      runs.add([kind, name, status]);
      if (status === 'failed') stopped.add([kind, name, codeOfError(error) === 'run_poisoned' ? 'poisoned' : 'failed']);
      if (startedAt !== null && endedAt !== null) runDuration.add([kind, name, status], (endedAt - startedAt) / 1_000);
    },
    notified: (receiver, outcome) => notified.add([receiver, outcome]),
    step(run, record, provider) {
      const { kind, event, at, startedAt } = record;
      // What only waits is no work of a step.
      if (event === 'set' || (kind !== 'step' && kind !== 'model' && kind !== 'tool')) return;
      const tool = kind === 'tool' ? readToolCall(record) : undefined;
      const status = tool?.isError ? 'failed' : STATUS[event];
      const labels = tool?.isDecision
        ? [run.name, 'step', 'guardrail', STATUS[event]]
        : [run.name, kind, tool?.isUnknown ? 'unknown' : nameOfStep(record), status];
      const seconds = Math.max(0, at - startedAt) / 1_000;
      steps.add(labels);
      stepDuration.add(labels, seconds);
      if (kind !== 'model') return;
      const asked = { operation: operationOf(record), model: modelOf(record), isFailed: event !== 'done' };
      model({ run, ...asked, tokens: record.tokens, seconds }, provider);
    },
    part(call, provider) {
      const { startedAt, at, reply } = call;
      const seconds = Math.max(0, at - startedAt) / 1_000;
      model({ ...call, model: reply?.asked ?? call.model, seconds, isFailed: !reply }, provider);
    },
    stalled: (seconds, cause) => stalls.add([cause], seconds),
    request: ({ method, route, status, seconds }) =>
      requests.add([METHODS.has(method) ? method : '_OTHER', route, String(status)], seconds),
  };
}

// --- internal ---

interface ModelFigures extends Pick<PartCall, 'run' | 'operation' | 'model'> {
  tokens?: Tokens | null | undefined;
  seconds: number;
  isFailed: boolean;
}

const STATUS = { done: 'completed', failed: 'failed', retry: 'retrying' } as const;
const CHAT = [GEN_AI.operation, GEN_AI.provider, GEN_AI.requestModel, GEN_AI.agent];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const RUNS = { name: 'svc.runs', unit: '{run}', text: 'Runs that began, and runs that ended, by status.' };
const STOPPED = {
  name: 'svc.runs.stopped',
  unit: '{run}',
  text: 'Runs that failed, were blocked or were convicted of ending their process.',
};
const NOTIFIED = {
  name: 'svc.notify.attempts',
  unit: '{message}',
  text: 'Attempts to notify a receiver, and messages that were left out.',
};
const RUN_DURATION = { name: 'svc.run.duration', unit: 's', text: 'From the beginning of a run to its end.' };
const STEPS = { name: 'svc.steps', unit: '{step}', text: 'Attempts of steps, model calls and tools.' };
const STEP_DURATION = { name: 'svc.step.duration', unit: 's', text: 'One attempt of a step, a model call or a tool.' };
const TOKENS = { name: 'gen_ai.client.token.usage', unit: '{token}', text: 'Tokens of one model call.' };
const CHAT_DURATION = { name: 'gen_ai.client.operation.duration', unit: 's', text: 'One model call, to its end.' };
const REQUESTS = {
  name: 'http.server.request.duration',
  unit: 's',
  text: 'From a request to the beginning of its answer.',
};

const STALLS = {
  name: 'svc.eventloop.stall.duration',
  unit: 's',
  text: 'Times of 50 milliseconds and more in which the event loop did nothing else.',
};

const STALL_SECONDS = [0.075, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const LONG_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];
const STEP_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const CHAT_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKEN_COUNTS = Array.from({ length: 14 }, (_, power) => 4 ** power);
