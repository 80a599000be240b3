import type { Hidden } from '../auth/visibility.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createRecent } from '../stores/recent.ts';
import type { AskModel } from './checks/whole.ts';
import { createCodeRules } from './code-rules.ts';
import type { CodeRules } from './code-rules.ts';
import { createGuardrailStore } from './drizzle-store.ts';
import type { JudgeRecorded } from './recorded.ts';
import { createHitWriter } from './hits.ts';
import type { HitWriter } from './hits.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import { listClashes } from './inputs.ts';
import { createRuleSet, toRule, toSideRules } from './rules.ts';
import type { Place, ReadyRule, RuleSet, SideRules } from './rules.ts';
import { createStoredRules } from './stored-rules.ts';
import type { StoredRules } from './stored-rules.ts';
import { tryRuns } from './try-runs.ts';
import type { TriedRuns, TryHow, TryRunsOptions, WhichRuns } from './try-runs.ts';
import type {
  Action,
  Check,
  Guardrail,
  GuardrailChange,
  HitFilter,
  HitPage,
  NewGuardrail,
  Side,
  StoredGuardrail,
} from './store.ts';

/**
 * Whatever takes an id throws `guardrail_not_found`, and what would change one that a file declares `guardrail_in_code`.
 */
export interface Guardrails extends Pick<CodeRules, 'load' | 'setAgents' | 'problems'> {
  /** In their order: those in code first. */
  list(): Promise<Guardrail[]>;
  get(id: string): Promise<Guardrail>;
  /** Throws `guardrail_exists`, and `too_many_guardrails`. */
  create(rule: NewGuardrail): Promise<Guardrail>;
  /** Throws `guardrail_exists`, and `invalid_request` where the action does not fit the check. */
  update(id: string, change: GuardrailChange): Promise<Guardrail>;
  /** All in their new order. */
  order(ids: readonly string[]): Promise<Guardrail[]>;
  remove(id: string): Promise<Guardrail>;
  /** Newest first. Throws `invalid_cursor`. */
  listHits(filter: HitFilter, page: { limit: number; cursor?: string }): Promise<HitPage>;
  deleteHitsOlder(days: number, limit: number): Promise<number>;
  /**
   * What is in force, at once where it is known. A change is seen at once here, and by any replica within 5 s. Throws
   * `store_unavailable`: what cannot be asked does not let pass.
   */
  rules(): RuleSet | Promise<RuleSet>;
  /** One that is not kept, ready to judge. */
  draft(side: Side, place: Place, rule: DraftRule): SideRules | undefined;
  /** What rules would say of recorded runs. Throws `run_not_found` and `invalid_cursor`. */
  tryRuns(which: WhichRuns, how: TryHow): Promise<TriedRuns>;
  /** Records what was found; waits for nothing. */
  record: HitWriter['add'];
  /** The same without hits of what is hidden. */
  without(hidden: Hidden): Guardrails;
  close(): Promise<void>;
}

/** What a rule that is not kept says. */
export interface DraftRule {
  check: Check;
  /** Default `block`. */
  action?: Action | undefined;
}

export interface GuardrailsOptions {
  db: Drizzle;
  kv?: KeyValueStore | undefined;
  log: Log;
  isBlank?(): boolean;
  /** Undefined: rules that ask a model fail. */
  askModel?: AskModel | undefined;
  /** Of recorded runs. */
  journal: TryRunsOptions['journal'];
  judgeRecorded: JudgeRecorded;
}

export function createGuardrails(options: GuardrailsOptions): Guardrails {
  const { db, kv, log, isBlank = () => false, askModel, journal, judgeRecorded: judge } = options;
  const store = createGuardrailStore(db);
  const hits = createHitWriter(store, log);
  const code = createCodeRules();
  const stored = createRecent({
    topic: 'guardrails',
    kv,
    read: async () => (isBlank() ? NONE : store.list().catch(unreadable)),
  });
  const ready = createStoredRules(({ id, name, failClosed }, problem) =>
    log.error(
      `The guardrail "${name}" cannot judge, and ${failClosed ? 'blocks' : 'lets pass'} all it is about. ${problem}. Change its check, or switch it off.`,
      { ruleId: id },
    ),
  );
  const toSet = createSetOf(askModel, ready);
  const shown = (rule: StoredGuardrail): StoredGuardrail =>
    behind(code.list(), { ...rule, problem: ready.make(rule).problem ?? null });
  const changed = () => stored.changed(ALL);
  const findInCode = (id: string) => code.list().find(({ guardrail }) => guardrail.id === id)?.guardrail;
  const list = async (): Promise<Guardrail[]> => inOrder(code.list(), (await store.list()).map(shown));
  const get = async (id: string): Promise<Guardrail> => {
    if (findInCode(id)) return (await list()).find((rule) => rule.id === id) ?? notFound(id);
    return shown((await store.find(id)) ?? notFound(id));
  };
  /** Of a rule that is data. */
  const getOwn = async (id: string): Promise<Guardrail> => {
    const found = findInCode(id);
    return found ? inCode(found) : get(id);
  };
  const room: Guardrails = {
    async load(program) {
      await code.load(program);
      // What cannot judge is logged with the start of the box, and not with the first turn. No start waits for it.
      void (async () => room.rules())().catch(() => {});
    },
    setAgents: code.setAgents,
    problems: code.problems,
    list,
    get,
    async create(rule) {
      const declared = code.list().find(({ guardrail }) => guardrail.name === rule.name);
      if (declared) return exists(rule.name, declared.guardrail.file);
      const made = await store.create(rule);
      if (made === 'name_taken') return exists(rule.name);
      if (made === 'full') throw new BoxError('too_many_guardrails', 'There are 200 rules. Delete one, or join two.');
      await changed();
      return behind(code.list(), made);
    },
    async update(id, change) {
      const [clash] = listClashes({ ...(await getOwn(id)), ...withoutUndefined(change) });
      if (clash !== undefined) throw new BoxError('invalid_request', `${clash}.`, { details: { param: 'action' } });
      const declared = code.list().find(({ guardrail }) => guardrail.name === change.name);
      if (declared) return exists(declared.guardrail.name, declared.guardrail.file);
      const made = await store.update(id, change);
      if (made === 'name_taken') return exists(change.name ?? '');
      await changed();
      return behind(code.list(), made ?? notFound(id));
    },
    async order(ids) {
      const declared = ids.map(findInCode).find((rule) => rule !== undefined);
      if (declared) return inCode(declared);
      const [unknown] = await store.order(ids);
      if (unknown !== undefined) return notFound(unknown);
      await changed();
      return list();
    },
    async remove(id) {
      await getOwn(id);
      const removed = (await store.remove(id)) ?? notFound(id);
      await changed();
      return behind(code.list(), removed);
    },
    async listHits(filter, page) {
      await hits.flush();
      return store.listHits(filter, page);
    },
    deleteHitsOlder: async (days, limit) =>
      isBlank() ? 0 : store.deleteHits(new Date(Date.now() - days * DAY_MS), limit),
    rules() {
      const known = stored.get(ALL);
      return known instanceof Promise ? known.then((rules) => toSet(code.list(), rules)) : toSet(code.list(), known);
    },
    draft: (side, place, { action = 'block', check }) =>
      toSideRules(side, place, [toRule({ id: '', name: 'draft', failClosed: true, action, check })], askModel),
    tryRuns: (which, how) => tryRuns({ journal, judge }, which, how),
    record: hits.add,
    async close() {
      await hits.flush();
      await stored.close();
    },
    without: (hidden) => ({
      ...room,
      listHits: (filter, page) => room.listHits({ ...filter, hidden }, page),
      tryRuns: (which, how) => tryRuns({ journal, judge, hidden }, which, how),
    }),
  };
  return room;
}

// --- internal ---

const ALL = 'all';
const NONE: readonly StoredGuardrail[] = [];

/** Made again where either has changed. */
function createSetOf(
  askModel: AskModel | undefined,
  ready: StoredRules,
): (code: readonly ReadyRule[], stored: readonly StoredGuardrail[]) => RuleSet {
  let made: { code: readonly ReadyRule[]; stored: readonly StoredGuardrail[]; set: RuleSet } | undefined;
  return (code, stored) => {
    if (made?.code !== code || made.stored !== stored) {
      ready.keep(stored);
      made = { code, stored, set: createRuleSet(stored, code, askModel, ready.make) };
    }
    return made.set;
  };
}

function inOrder(code: readonly ReadyRule[], stored: readonly StoredGuardrail[]): Guardrail[] {
  const declared = code.map(({ guardrail }, index) => ({ ...guardrail, order: index + 1 }));
  return [...declared, ...stored];
}

function behind(code: readonly ReadyRule[], rule: StoredGuardrail): StoredGuardrail {
  return { ...rule, order: code.length + rule.order };
}

function inCode({ name, file }: Guardrail): never {
  const message = `The guardrail "${name}" is declared in "${file}". Change it there.`;
  throw new BoxError('guardrail_in_code', message, { details: { name, file } });
}
const DAY_MS = 24 * 60 * 60 * 1000;

function unreadable(cause: unknown): never {
  const message = 'The guardrails cannot be read, so nothing begins that they may refuse. Send it again in a moment.';
  throw new BoxError('store_unavailable', message, { cause, details: { retryAfter: 1 } });
}

function notFound(id: string): never {
  throw new BoxError('guardrail_not_found', `There is no guardrail "${id}".`);
}

function exists(name: string, file: string | null = null): never {
  const where = file === null ? '' : `, in "${file}"`;
  const message = `There is a guardrail "${name}" already${where}. Change that one, or take another name.`;
  throw new BoxError('guardrail_exists', message, { details: { name } });
}
