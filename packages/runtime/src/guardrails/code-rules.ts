import { createHash } from 'node:crypto';
import { problemOf } from '../manifest.ts';
import type { DeclaredEntry, Problem, Program } from '../manifest.ts';
import { isGuardrail, parseDefinition } from './define.ts';
import type { DefinedRule, GuardrailDefinition } from './define.ts';
import { failing, toHow } from './rules.ts';
import type { ReadyRule } from './rules.ts';
import type { Attachment, Guardrail } from './store.ts';
import { Side } from './store.ts';

/** An agent with the rules that are declared beside it. */
export interface AgentRules {
  name: string;
  file: string;
  guardrails: readonly GuardrailDefinition[];
}

/** The rules the workspace declares: those of its files by their names, and behind them those beside agents. */
export interface CodeRules {
  /** Takes the files of a program. One that fails keeps its last good version; without one it blocks all. */
  load(program: Program): Promise<void>;
  setAgents(agents: readonly AgentRules[]): void;
  list(): readonly ReadyRule[];
  problems(): Problem[];
}

export function createCodeRules(): CodeRules {
  let files = new Map<string, FileRule>();
  let beside: readonly ReadyRule[] = [];
  let all: readonly ReadyRule[] = [];
  const join = (): void => void (all = [...[...files.values()].map(({ ready }) => ready), ...beside]);
  return {
    async load(program) {
      const entries = [...(program.manifest.guardrails ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
      const loaded = await Promise.all(entries.map((entry) => loadOne(entry, program, files.get(entry.file))));
      files = new Map(loaded.map((one) => [one.entry.file, one]));
      join();
    },
    setAgents(agents) {
      beside = agents.flatMap(toRulesOf);
      join();
    },
    list: () => all,
    problems: () => [...files.values()].flatMap(({ problem }) => problem ?? []),
  };
}

/** Throws a sentence where the module holds no rule. */
export function readRule({ file }: DeclaredEntry, exports: Record<string, unknown>): DefinedRule {
  const definition = exports['default'];
  if (!isGuardrail(definition))
    throw new TypeError(
      `The default export of "${file}" is not a guardrail. Write: export default defineGuardrail({ ... }).`,
    );
  return parseDefinition(definition);
}

// --- internal ---

interface FileRule {
  entry: DeclaredEntry;
  ready: ReadyRule;
  isGood: boolean;
  problem?: Problem;
}

async function loadOne(entry: DeclaredEntry, program: Program, last: FileRule | undefined): Promise<FileRule> {
  try {
    if (entry.problem) throw Object.assign(new Error(entry.problem.message), { problem: entry.problem });
    const defined = readRule(entry, (await program.load(entry.file)).exports);
    const { name = entry.name } = defined;
    if (name !== entry.name)
      throw new TypeError(
        `The guardrail in "${entry.file}" is named "${name}". Write name: '${entry.name}', or rename the file.`,
      );
    return { entry, ready: toReady(defined, { name, file: entry.file }), isGood: true };
  } catch (error) {
    const problem = problemOf(error, entry.file);
    if (last?.isGood) return { ...last, ready: withProblem(last.ready, problem.message), problem };
    return { entry, ready: toBroken(entry, problem), isGood: false, problem };
  }
}

function toRulesOf({ name: agent, file, guardrails }: AgentRules): ReadyRule[] {
  const attachment = { kind: 'agent' as const, name: agent };
  return guardrails.map((one) => {
    const defined = parseDefinition(one);
    return toReady({ ...defined, attachment }, { name: `${agent}/${defined.name ?? ''}`, file });
  });
}

function toReady(defined: DefinedRule, { name, file }: { name: string; file: string }): ReadyRule {
  const { check, name: _, ...rest } = defined;
  const id = toId(file, name);
  const guardrail = {
    ...toRecord({ id, name, file, ...rest }),
    check: 'kind' in check ? check : { kind: 'code' as const, timeoutMs: check.timeoutMs },
  };
  const how = 'kind' in check ? toHow(check) : { ...check, file };
  const { action, failClosed } = rest;
  return { guardrail, rule: { id, name, action, failClosed, how } };
}

/** What it would judge is not known, so it blocks whatever there is. */
function toBroken({ name, file }: DeclaredEntry, { message }: Problem): ReadyRule {
  const id = toId(file, name);
  const attachment: Attachment = { kind: 'workspace', name: '' };
  const record = { id, name, file, note: null, sides: [...Side.options], attachment, enabled: true, failClosed: true };
  const guardrail = { ...toRecord({ ...record, action: 'block' }), check: { kind: 'code' as const, timeoutMs: 0 } };
  const how = failing(new Error(`"${file}" does not load`));
  return { guardrail: { ...guardrail, problem: message }, rule: { id, name, action: 'block', failClosed: true, how } };
}

function withProblem({ guardrail, rule }: ReadyRule, problem: string): ReadyRule {
  return { guardrail: { ...guardrail, problem }, rule };
}

function toRecord(
  given: Pick<
    Guardrail,
    'id' | 'name' | 'file' | 'note' | 'sides' | 'action' | 'attachment' | 'enabled' | 'failClosed'
  >,
): Omit<Guardrail, 'check'> {
  return { order: 0, origin: 'code', problem: null, ...given, createdBy: 'code', createdAt: null, updatedAt: null };
}

/** The same at every start and every replica, so that hits stay those of the rule. A UUID of version 8. */
function toId(file: string, name: string): string {
  const hex = createHash('sha256').update(`guardrail ${file} ${name}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
