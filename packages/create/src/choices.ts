import { CommandError } from './errors.ts';
import { checkModel, checkProviderKey, checkProviderUrl, listModels, PROVIDER_KEY, PROVIDER_URL } from './provider.ts';
import type { ModelAnswer, Provider } from './provider.ts';
import { TEMPLATES } from './source.ts';
import type { TemplateName } from './source.ts';

/** Who made the command, as far as it may be asked. */
export interface Person {
  /** False: there is no terminal, or no question is wanted. */
  mayAsk: boolean;
  env: Record<string, string | undefined>;
  signal?: AbortSignal | undefined;
  /** One line a person types. Throws when the person leaves instead. */
  ask(question: string, options?: { isHidden?: boolean }): Promise<string>;
  /** All that a pipe brings; undefined where stdin is a terminal. */
  readStdin(): Promise<string | undefined>;
  /** One line of talk. */
  say(line: string): void;
}

/** What flags said of a workspace to be made. */
export interface Given {
  with?: TemplateName | undefined;
  provider?: string | undefined;
  /** The key of the provider is what stdin brings. */
  keyStdin: boolean;
  model?: string | undefined;
}

export interface Choices {
  with: TemplateName;
  provider: Provider | null;
  /** Null: none is named yet. */
  model: string | null;
}

/** Where no question is asked, and what Enter stands for where one is. */
export const DEFAULT_TEMPLATE: TemplateName = 'empty';
export const OFFERED_TEMPLATE: TemplateName = 'agent';

/** What flags said, each of them found to be something that can be meant. */
export interface Checked extends Pick<Given, 'with' | 'keyStdin'> {
  url: string | undefined;
  /** The model. */
  named: string | undefined;
}

/** Judges flags alone, before the folder is looked at and before the first question. */
export function checkGiven(given: Given): Checked {
  const url = given.provider === undefined ? undefined : checkProviderUrl(given.provider);
  const named = given.model === undefined ? undefined : checkModel(given.model);
  if (given.keyStdin && url === undefined)
    throw new CommandError('generic', '--key-stdin brings the key of a provider, and --provider names none.', {
      suggestion: 'Add --provider https://provider.example/v1',
    });
  return { with: given.with, keyStdin: given.keyStdin, url, named };
}

/** Everything about a new workspace that a person decides. Nothing is made yet. */
export async function choose({ url, named, ...given }: Checked, person: Person): Promise<Choices> {
  const key = await readKey(given.keyStdin, person);
  const template = given.with ?? (person.mayAsk ? await askTemplate(person) : DEFAULT_TEMPLATE);
  const provider = await chooseProvider({ url, key }, person);
  if (provider === null) return { with: template, provider, model: named ?? null };
  const { asked, model } = await chooseModel(provider, named, person);
  return { with: template, provider: asked, model };
}

// --- internal ---

const SHOWN = 20;
const EXAMPLE = 'https://provider.example/v1';

/** Without a flag, of the environment: a key is never an argument, which the history of a shell would keep. */
async function readKey(isPiped: boolean, { env, readStdin }: Person): Promise<string | undefined> {
  if (!isPiped) return checkProviderKey(env[PROVIDER_KEY] ?? '');
  const key = checkProviderKey((await readStdin()) ?? '');
  if (key !== undefined) return key;
  throw new CommandError('generic', '--key-stdin reads a key from stdin, and nothing came.', {
    suggestion: `Pipe one in, or set ${PROVIDER_KEY} in its place.`,
  });
}

async function askTemplate({ ask, say }: Person): Promise<TemplateName> {
  const names = [OFFERED_TEMPLATE, ...TEMPLATES.filter((name) => name !== OFFERED_TEMPLATE)];
  const width = Math.max(...names.map((name) => name.length));
  say(names.map((name) => `  ${name.padEnd(width)}  ${MEANINGS[name]}`).join('\n'));
  for (;;) {
    const typed = (await ask(`Begin with one of them (Enter: ${OFFERED_TEMPLATE}): `)).trim();
    const chosen = typed === '' ? OFFERED_TEMPLATE : TEMPLATES.find((name) => name === typed.toLowerCase());
    if (chosen) return chosen;
    say(`There is no template "${typed}". Use one of: ${names.join(', ')}.`);
  }
}

/** What is in each, for who is asked. */
const MEANINGS: Record<TemplateName, string> = {
  agent: 'an agent with a tool, to chat with',
  empty: 'the settings alone',
  workflow: 'a workflow with a step, to start',
  'workflow-agent': 'both: an agent that starts a workflow',
};

interface Asked {
  url: string | undefined;
  key: string | undefined;
}

async function chooseProvider({ url: flag, key: given }: Asked, person: Person): Promise<Provider | null> {
  if (flag !== undefined && (given !== undefined || !person.mayAsk)) return { url: flag, key: given };
  if (!person.mayAsk) return null;
  const url = flag ?? (await askUrl(person));
  if (url === undefined) return null;
  if (given !== undefined) person.say(`Its key is that of ${PROVIDER_KEY}.`);
  return { url, key: given ?? (await askKey('Its key, not shown (Enter: it needs none): ', person)) };
}

/** Undefined: not now. */
async function askUrl({ ask, say, env }: Person): Promise<string | undefined> {
  const set = env[PROVIDER_URL] ?? '';
  const offered = set === '' ? undefined : checkProviderUrl(set);
  const question = `Model provider, an address of the chat-completions format such as ${EXAMPLE} (${offered ?? 'Enter: later'}): `;
  for (;;) {
    const typed = (await ask(question)).trim();
    if (typed === '') return offered;
    const url = attempt(() => checkProviderUrl(typed), say);
    if (url !== undefined) return url;
  }
}

async function askKey(question: string, { ask, say }: Person): Promise<string | undefined> {
  for (;;) {
    const typed = await ask(question, { isHidden: true });
    if (typed.trim() === '') return undefined;
    const key = attempt(() => checkProviderKey(typed), say);
    if (key !== undefined) return key;
  }
}

/** Undefined: it was refused, and said why. */
function attempt<T>(check: () => T, say: (line: string) => void): T | undefined {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    say(`${error.message} ${error.suggestion}`);
    return undefined;
  }
}

/** With the provider that was asked: a key it refuses may be typed again. */
async function chooseModel(
  provider: Provider,
  named: string | undefined,
  person: Person,
): Promise<{ asked: Provider; model: string | null }> {
  const { mayAsk, signal, say } = person;
  if (named !== undefined && !mayAsk) return { asked: provider, model: named };
  if (!mayAsk) {
    const answer = await listModels(provider, signal);
    const only = 'models' in answer && answer.models.length === 1 ? answer.models[0] : undefined;
    return { asked: provider, model: only ?? null };
  }
  const { asked, answer } = await askProvider(provider, person);
  if ('problem' in answer && !answer.isRefused) say(answer.problem);
  return { asked, model: named ?? (await askModel(answer, person)) };
}

/** As often as a key is typed that the provider refuses. */
async function askProvider(provider: Provider, person: Person): Promise<{ asked: Provider; answer: ModelAnswer }> {
  for (let asked = provider; ;) {
    const answer = await listModels(asked, person.signal);
    if (!('problem' in answer) || !answer.isRefused) return { asked, answer };
    person.say(answer.problem);
    const key = await askKey('Its key, not shown (Enter: leave it so): ', person);
    if (key === undefined) return { asked, answer };
    asked = { ...asked, key };
  }
}

/** Null: not now. */
async function askModel(answer: ModelAnswer, { ask, say }: Person): Promise<string | null> {
  const all = 'models' in answer ? answer.models : [];
  const offered = all.length === 1 ? (all[0] ?? null) : null;
  let shown = all;
  for (;;) {
    if (shown.length > 1) say(formatModels(shown));
    const how = shown.length > 1 ? 'Its model, a number, a name or a part of one' : 'Its model, by name';
    const typed = (await ask(`${how} (${offered ?? 'Enter: later'}): `)).trim();
    if (typed === '') return offered;
    const found = findModels(typed, { shown, all });
    if (found.length > 1) shown = found;
    else if (found[0] !== undefined) return found[0];
    else {
      const model = attempt(() => checkModel(typed), say);
      if (model === undefined) continue;
      if (all.length > 0) say(`The provider does not list "${model}"; it is used as given.`);
      return model;
    }
  }
}

/** Of a number that of the line, of a whole name that name, else all names it is a part of. */
function findModels(typed: string, { shown, all }: { shown: string[]; all: string[] }): string[] {
  if (all.includes(typed)) return [typed];
  const numbered = /^\d{1,4}$/.test(typed) ? shown.slice(0, SHOWN)[Number(typed) - 1] : undefined;
  if (numbered !== undefined) return [numbered];
  return all.filter((name) => name.toLowerCase().includes(typed.toLowerCase()));
}

function formatModels(models: string[]): string {
  const rows = models.slice(0, SHOWN).map((name, at) => `${String(at + 1).padStart(4)}  ${name}`);
  const more = models.length - rows.length;
  return [`It has ${models.length} models:`, ...rows, ...(more > 0 ? [`      and ${more} more`] : [])].join('\n');
}
