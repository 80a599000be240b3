import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createRecent } from '../stores/recent.ts';
import { createGuardrailStore } from './drizzle-store.ts';
import { createHitWriter } from './hits.ts';
import type { HitWriter } from './hits.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import { listClashes } from './inputs.ts';
import { createRuleSet, NO_RULES } from './rules.ts';
import type { RuleSet } from './rules.ts';
import type { Guardrail, GuardrailChange, HitPage, NewGuardrail } from './store.ts';

/** Whatever takes an id throws `guardrail_not_found`. */
export interface Guardrails {
  /** In their order. */
  list(): Promise<Guardrail[]>;
  get(id: string): Promise<Guardrail>;
  /** Throws `guardrail_exists`, and `too_many_guardrails`. */
  create(rule: NewGuardrail): Promise<Guardrail>;
  /** Throws `guardrail_exists`, and `invalid_request` where the action does not fit the check or a side. */
  update(id: string, change: GuardrailChange): Promise<Guardrail>;
  /** All in their new order. */
  order(ids: readonly string[]): Promise<Guardrail[]>;
  remove(id: string): Promise<Guardrail>;
  /** Newest first. Throws `invalid_cursor`. */
  listHits(filter: { ruleId?: string }, page: { limit: number; cursor?: string }): Promise<HitPage>;
  deleteHitsOlder(days: number, limit: number): Promise<number>;
  /**
   * What is in force, at once where it is known. A change is seen at once here, and by any replica within 5 s. Throws
   * `store_unavailable`: what cannot be asked does not let pass.
   */
  rules(): RuleSet | Promise<RuleSet>;
  /** Records what was found; waits for nothing. */
  record: HitWriter['add'];
  close(): Promise<void>;
}

export interface GuardrailsOptions {
  db: Drizzle;
  kv?: KeyValueStore | undefined;
  log: Log;
  isBlank?(): boolean;
}

export function createGuardrails({ db, kv, log, isBlank = () => false }: GuardrailsOptions): Guardrails {
  const store = createGuardrailStore(db);
  const hits = createHitWriter(store, log);
  const inForce = createRecent({
    topic: 'guardrails',
    kv,
    read: async () => (isBlank() ? NO_RULES : createRuleSet(await store.list().catch(unreadable))),
  });
  const changed = () => inForce.changed(ALL);
  const get = async (id: string): Promise<Guardrail> => (await store.find(id)) ?? notFound(id);
  return {
    list: () => store.list(),
    get,
    async create(rule) {
      const made = await store.create(rule);
      if (made === 'name_taken') return exists(rule.name);
      if (made === 'full') throw new BoxError('too_many_guardrails', 'There are 200 rules. Delete one, or join two.');
      await changed();
      return made;
    },
    async update(id, change) {
      const [clash] = listClashes({ ...(await get(id)), ...withoutUndefined(change) });
      if (clash !== undefined) throw new BoxError('invalid_request', `${clash}.`, { details: { param: 'action' } });
      const made = await store.update(id, change);
      if (made === 'name_taken') return exists(change.name ?? '');
      await changed();
      return made ?? notFound(id);
    },
    async order(ids) {
      const [unknown] = await store.order(ids);
      if (unknown !== undefined) return notFound(unknown);
      await changed();
      return store.list();
    },
    async remove(id) {
      const removed = (await store.remove(id)) ?? notFound(id);
      await changed();
      return removed;
    },
    async listHits(filter, page) {
      await hits.flush();
      return store.listHits(filter, page);
    },
    deleteHitsOlder: async (days, limit) =>
      isBlank() ? 0 : store.deleteHits(new Date(Date.now() - days * DAY_MS), limit),
    rules: () => inForce.get(ALL),
    record: hits.add,
    async close() {
      await hits.flush();
      await inForce.close();
    },
  };
}

// --- internal ---

const ALL = 'all';
const DAY_MS = 24 * 60 * 60 * 1000;

function unreadable(cause: unknown): never {
  const message = 'The guardrails cannot be read, so nothing begins that they may refuse. Send it again in a moment.';
  throw new BoxError('store_unavailable', message, { cause, details: { retryAfter: 1 } });
}

function notFound(id: string): never {
  throw new BoxError('guardrail_not_found', `There is no guardrail "${id}".`);
}

function exists(name: string): never {
  const message = `There is a guardrail "${name}" already. Change that one, or take another name.`;
  throw new BoxError('guardrail_exists', message, { details: { name } });
}
