import type { Caller } from '../auth/caller.ts';
import { BoxError } from '../errors.ts';
import type { CaseChange, CaseFilter, CaseRow, CaseStore } from './case-store.ts';
import { toCase } from './case-store.ts';
import { AgentInput } from './case.ts';
import type { EvalCase, EvalInput, EvalTarget, NewCase } from './case.ts';
import type { ReadCase } from './from-run.ts';
import { requireStorable } from './paging.ts';
import type { Page, PageOf } from './paging.ts';
import { caseNotFound } from './refusals.ts';
import { requireScorers } from './scorer.ts';
import type { KnownScorers, Scorer } from './scorer.ts';

/** What a caller says of a case. */
export interface CaseGiven {
  name?: string | undefined;
  target?: EvalTarget | undefined;
  input?: unknown;
  expected?: unknown;
  scorers?: Scorer[] | undefined;
  tags?: string[] | undefined;
  note?: string | null | undefined;
}

/** Whatever takes an id throws `eval_case_not_found`. */
export interface Cases {
  /** Newest first. Throws `invalid_cursor`. */
  list(filter: CaseFilter, page: Page): Promise<PageOf<EvalCase>>;
  get(id: string): Promise<EvalCase>;
  /** What is not given is that of the run. Throws `invalid_request`, `workflow_input_invalid` and `run_not_found`. */
  create(given: CaseGiven & { fromRunId?: string | undefined }, caller: Caller): Promise<EvalCase>;
  update(id: string, change: CaseGiven): Promise<EvalCase>;
  remove(id: string): Promise<void>;
}

export interface CasesOptions {
  store: CaseStore;
  readCase: ReadCase;
  known: KnownScorers;
  /** Throws `workflow_input_invalid`, of a workflow that is loaded. */
  checkInput(workflow: string, value: unknown): Promise<void>;
}

export function createCases({ store, readCase, known: knownScorers, checkInput }: CasesOptions): Cases {
  const find = async (id: string): Promise<CaseRow> => {
    const row = await store.find(id);
    if (!row) throw caseNotFound(id);
    return row;
  };
  const toInput = async (target: EvalTarget, given: unknown): Promise<EvalInput> => {
    if (target.kind === 'agent') return parseMessage(given);
    requireStorable(given, 'input');
    await checkInput(target.name, given);
    return { value: given };
  };
  const toExpected = (value: unknown) => {
    requireStorable(value, 'expected');
    return value === undefined ? null : { value };
  };
  return {
    list: (filter, page) => store.list(filter, page),
    get: async (id) => toCase(await find(id)),
    async create(given, caller) {
      const { fromRunId } = given;
      const read = fromRunId === undefined ? undefined : await readCase(fromRunId, caller);
      const target = given.target ?? read?.target;
      if (!target || (given.input === undefined && !read)) throw incomplete(target ? 'input' : 'target');
      const input = given.input === undefined && read ? read.input : await toInput(target, given.input);
      if (read) requireStorable(input, 'input');
      const expected = given.expected === undefined ? (read?.expected ?? null) : toExpected(given.expected);
      if (expected) requireStorable(expected.value, 'expected');
      const scorers = given.scorers ?? [];
      await requireScorers(scorers, knownScorers);
      const { name = read?.name, tags = [], note = null } = given;
      if (name === undefined) throw incomplete('name');
      const values = { name, target, input, expected, scorers, tags, note, fromRunId: fromRunId ?? null };
      return store.create({ ...values, by: caller.name });
    },
    async update(id, { target, input, expected, scorers, name, tags, note }) {
      const row = await find(id);
      const known: EvalTarget = { kind: row.targetKind, name: row.targetName };
      if (target && target.kind !== known.kind && input === undefined)
        throw new BoxError('invalid_request', 'A case with another kind of target needs another "input", too.', {
          details: { param: 'input' },
        });
      if (scorers) await requireScorers(scorers, knownScorers);
      const change: CaseChange = {
        ...(target && { target }),
        ...(input === undefined ? {} : { input: await toInput(target ?? known, input) }),
        ...(expected === undefined ? {} : { expected: toExpected(expected) }),
        ...(scorers && { scorers }),
        ...(name === undefined ? {} : { name }),
        ...(tags && { tags }),
        ...(note === undefined ? {} : { note }),
      };
      const updated = await store.update(id, change);
      if (!updated) throw caseNotFound(id);
      return updated;
    },
    async remove(id) {
      if (!(await store.remove(id))) throw caseNotFound(id);
    },
  };
}

// --- internal ---

function parseMessage(given: unknown): NewCase['input'] {
  const parsed = AgentInput.safeParse(given);
  if (!parsed.success) {
    const message = 'The "input" of a case for an agent is a message: a text, or {"message": "…", "before": […]}.';
    throw new BoxError('invalid_request', message, { details: { param: 'input' } });
  }
  requireStorable(parsed.data, 'input');
  return typeof parsed.data === 'string' ? { message: parsed.data } : parsed.data;
}

function incomplete(param: string): BoxError {
  return new BoxError('invalid_request', `A case needs "${param}", or "fromRunId" of a run to take it from.`, {
    details: { param },
  });
}
