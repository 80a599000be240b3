import { BoxError } from '../errors.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createRecent } from '../stores/recent.ts';
import { createPromptStore } from './drizzle-store.ts';
import { diffPrompts } from './diff.ts';
import type { PromptDiff } from './diff.ts';
import type {
  NewPrompt,
  NewVersion,
  Page,
  PageOf,
  Prompt,
  PromptKey,
  PromptText,
  PromptVersion,
  Publication,
  PublishedPrompt,
} from './store.ts';

/** Whatever takes an id throws `prompt_not_found`, and what takes a version `prompt_version_not_found`. */
export interface Prompts {
  /** Newest first. Throws `invalid_cursor`. */
  list(filter: Partial<PromptKey>, page: Page): Promise<PageOf<Prompt>>;
  get(id: string): Promise<Prompt>;
  /** Throws `prompt_exists`, and `prompt_too_large`. */
  create(prompt: NewPrompt): Promise<Prompt>;
  update(id: string, change: { name?: string; note?: string | null }): Promise<Prompt>;
  remove(id: string): Promise<Prompt>;
  listVersions(id: string, page: Page): Promise<PageOf<PromptVersion>>;
  getVersion(id: string, version: number): Promise<PromptText>;
  /** Throws `prompt_too_large`. */
  addVersion(id: string, version: NewVersion): Promise<PromptText>;
  /** Default: what is in force, or else the version before `to`, with the latest one. */
  diff(id: string, versions: { from?: number; to?: number }): Promise<PromptDiff>;
  /** Default: the latest version. One that is in force already changes nothing. */
  publish(id: string, version: number | undefined, by: string): Promise<Prompt>;
  /** Publishes the version that was in force before. Throws `prompt_not_published_before`. */
  rollback(id: string, by: string): Promise<Prompt>;
  /** What is in force, at once where it is known. A change is seen at once here, and by any replica within 5 s. */
  findPublished(key: PromptKey): PublishedPrompt | undefined | Promise<PublishedPrompt | undefined>;
  /** The text of a version, whatever is in force now. Undefined: its prompt was deleted. */
  findText(id: string, version: number): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface PromptsOptions {
  db: Drizzle;
  kv?: KeyValueStore | undefined;
  isBlank?(): boolean;
}

export function createPrompts({ db, kv, isBlank = () => false }: PromptsOptions): Prompts {
  const store = createPromptStore(db);
  const published = createRecent({
    topic: 'prompts',
    kv,
    read: async (key) => (isBlank() ? undefined : store.findPublished(parseKey(key))),
  });
  const get = async (id: string): Promise<Prompt> => (await store.find(id)) ?? notFound(id);
  const getVersion = async (id: string, version: number): Promise<PromptText> =>
    (await store.findVersion(id, version)) ?? noVersion(await get(id), version);
  const settle = async (id: string, outcome: Publication, version?: number): Promise<Prompt> => {
    if (outcome === 'no_prompt') return notFound(id);
    if (outcome === 'no_version') return noVersion(await get(id), version ?? 0);
    if (outcome === 'nothing_before') return nothingBefore(await get(id));
    await published.changed(toKey(outcome.prompt));
    return outcome.prompt;
  };
  return {
    list: (filter, page) => store.list(filter, page),
    get,
    async create(prompt) {
      checkSize(prompt.text);
      return (await store.create(prompt)) ?? exists(prompt);
    },
    update: async (id, change) => (await store.update(id, change)) ?? notFound(id),
    async remove(id) {
      const prompt = (await store.remove(id)) ?? notFound(id);
      await published.changed(toKey(prompt));
      return prompt;
    },
    async listVersions(id, page) {
      await get(id);
      return store.listVersions(id, page);
    },
    getVersion,
    async addVersion(id, version) {
      checkSize(version.text);
      return (await store.addVersion(id, version)) ?? notFound(id);
    },
    async diff(id, versions) {
      const { publishedVersion, latestVersion } = await get(id);
      const to = versions.to ?? latestVersion;
      const from = versions.from ?? publishedVersion ?? Math.max(1, to - 1);
      return diffPrompts(await getVersion(id, from), await getVersion(id, to));
    },
    publish: async (id, version, by) => settle(id, await store.publish(id, version, by), version),
    rollback: async (id, by) => settle(id, await store.rollback(id, by)),
    findPublished: (key) => published.get(toKey(key)),
    findText: async (id, version) => (await store.findVersion(id, version))?.text,
    close: () => published.close(),
  };
}

// --- internal ---

/** The instructions of a turn are sent with every model call. */
const MAX_BYTES = 256 * 1_024;

function toKey({ ownerKind, ownerName, key }: PromptKey): string {
  return JSON.stringify([ownerKind, ownerName, key]);
}

function parseKey(text: string): PromptKey {
  const [ownerKind, ownerName, key] = JSON.parse(text) as [PromptKey['ownerKind'], string, string];
  return { ownerKind, ownerName, key };
}

function checkSize(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_BYTES) return;
  const message = `The text has ${bytes} bytes; a prompt may have ${MAX_BYTES}. Put what is looked up now and then into a skill.`;
  throw new BoxError('prompt_too_large', message, { details: { bytes, limit: MAX_BYTES } });
}

function notFound(id: string): never {
  throw new BoxError('prompt_not_found', `There is no prompt "${id}".`);
}

function noVersion({ key, latestVersion }: Prompt, version: number): never {
  const message = `The prompt "${key}" has no version ${version}; its latest is ${latestVersion}.`;
  throw new BoxError('prompt_version_not_found', message, { details: { latestVersion } });
}

function nothingBefore({ key, publishedVersion }: Prompt): never {
  const reason =
    publishedVersion === null ? 'has not been published' : `had no version in force before version ${publishedVersion}`;
  const message = `The prompt "${key}" ${reason}, so there is none to go back to. Publish the version you want by its number.`;
  throw new BoxError('prompt_not_published_before', message, { details: { publishedVersion } });
}

function exists({ ownerKind, ownerName, key }: PromptKey): never {
  const owner = ownerKind === 'workspace' ? 'The workspace' : `The ${ownerKind} "${ownerName}"`;
  const message = `${owner} has a prompt "${key}" already. Add a version to it, or take another key.`;
  throw new BoxError('prompt_exists', message, { details: { ownerKind, ownerName, key } });
}
