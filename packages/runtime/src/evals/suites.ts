import type { Caller } from '../auth/caller.ts';
import { BoxError } from '../errors.ts';
import type { CaseStore } from './case-store.ts';
import type { Page, PageOf } from './paging.ts';
import { caseNotFound, suiteExists, suiteNotFound } from './refusals.ts';
import { columnOf, requireScorers } from './scorer.ts';
import type { KnownScorers, Scorer } from './scorer.ts';
import type { SuiteChange, SuiteStore } from './suite-store.ts';
import type { NewSuite, Suite } from './suite.ts';

/** Whatever takes a suite takes its id or its name, and throws `eval_suite_not_found`. */
export interface Suites {
  /** Newest first. Throws `invalid_cursor`. */
  list(page: Page): Promise<PageOf<Suite>>;
  get(idOrName: string): Promise<Suite>;
  /** Throws `eval_suite_exists`, `eval_case_not_found` and `invalid_request`. */
  create(given: Omit<NewSuite, 'by'>, caller: Caller): Promise<Suite>;
  update(idOrName: string, change: SuiteChange): Promise<Suite>;
  remove(idOrName: string): Promise<void>;
}

export interface SuitesOptions {
  store: SuiteStore;
  cases: Pick<CaseStore, 'listKnown'>;
  known: KnownScorers;
}

export function createSuites({ store, cases, known: knownScorers }: SuitesOptions): Suites {
  const get = async (idOrName: string): Promise<Suite> => {
    const suite = await store.find(idOrName);
    if (!suite) throw suiteNotFound(idOrName);
    return suite;
  };
  const check = async ({ cases: named = [], scorers = [], online }: SuiteChange): Promise<void> => {
    await requireScorers(scorers, knownScorers);
    if (online) requireLive(scorers);
    const twice = named.find((id, index) => named.indexOf(id) !== index);
    if (twice !== undefined)
      throw new BoxError('invalid_request', `The case "${twice}" is named twice.`, { details: { param: 'cases' } });
    const known = await cases.listKnown(named);
    const unknown = named.find((id) => !known.has(id));
    if (unknown !== undefined) throw caseNotFound(unknown);
  };
  return {
    list: (page) => store.list(page),
    get,
    async create(given, { name: by }) {
      await check(given);
      const suite = await store.create({ ...given, by });
      if (!suite) throw suiteExists(given.name);
      return suite;
    },
    async update(idOrName, change) {
      const suite = await get(idOrName);
      await check({ ...change, scorers: change.scorers ?? suite.scorers, online: change.online ?? suite.online });
      const updated = await store.update(suite, change);
      if (updated === 'taken') throw suiteExists(change.name ?? suite.name);
      if (!updated) throw suiteNotFound(idOrName);
      return updated;
    },
    async remove(idOrName) {
      const { id } = await get(idOrName);
      await store.remove(id);
    },
  };
}

// --- internal ---

/** Throws where a scorer compares with an expectation: a live turn has none. */
function requireLive(scorers: readonly Scorer[]): void {
  const refuse = (message: string) => new BoxError('invalid_request', message, { details: { param: 'online' } });
  if (scorers.length === 0) throw refuse('A suite that scores live turns needs "scorers" of its own.');
  const compares = scorers.find((one) => COMPARING.has(one.type) || (one.type === 'contains' && !one.values));
  if (compares)
    throw refuse(`The scorer "${columnOf(compares)}" compares with an expected answer, which live turns do not have.`);
}

const COMPARING: ReadonlySet<string> = new Set(['exact', 'numeric', 'semantic']);
