import { z } from 'zod';
import { COPILOT_AGENT } from '../manifest.ts';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { LINE, PromptInput, ROOM } from './inputs.ts';
import { OwnerKind, Prompt, PromptText } from './store.ts';
import type { PromptKey } from './store.ts';
import type { Prompts } from './prompts.ts';
import type { Gate } from '../gate/gate.ts';

/** What has prompts: the agents and workflows of a room above. */
export interface Owners {
  findAgent(name: string): { definition?: { subagents: ReadonlyMap<string, unknown> } | undefined } | undefined;
  findWorkflow(name: string): unknown;
}

const operation = operationsOf<{ prompts: Prompts; catalog: Owners; gate: Gate }>();

const PromptDetail = Prompt.extend({
  ownerExists: z
    .boolean()
    .nullable()
    .describe('Whether the box has that agent or workflow; it may come later. Null: they are not loaded yet'),
});

export const listPrompts = operation({
  ...ROOM,
  id: 'prompts.list',
  summary: 'List prompts by owner kind, owner name and key, newest first',
  route: 'GET /api/prompts',
  kind: 'read',
  cli: 'prompts list',
  input: z.strictObject({
    ownerKind: OwnerKind.optional(),
    ownerName: z.string().optional(),
    key: z.string().optional(),
    ...Page,
  }),
  output: z.object({ items: z.array(Prompt), nextCursor: z.string().nullable() }),
  handle: ({ prompts }, { limit, cursor, ...filter }) =>
    prompts.list(withoutUndefined(filter), withoutUndefined({ limit, cursor })),
});

export const createPrompt = operation({
  ...ROOM,
  id: 'prompts.create',
  summary: 'Create a prompt with its first version, which is a draft until it is published',
  route: 'POST /api/prompts',
  kind: 'write',
  cli: 'prompts create',
  status: 201,
  errors: ['prompt_exists', 'prompt_too_large'],
  input: PromptInput,
  output: PromptDetail,
  async handle(rooms, input, { caller }) {
    const prompt = await rooms.prompts.create({ ...input, by: caller.name });
    return { ...prompt, ownerExists: hasOwner(rooms, prompt) };
  },
});

export const getPrompt = operation({
  ...ROOM,
  id: 'prompts.get',
  summary: 'Get one prompt with its published and its latest version',
  route: 'GET /api/prompts/:id',
  kind: 'read',
  cli: 'prompts get',
  errors: ['prompt_not_found'],
  input: z.strictObject({ id: z.string() }),
  output: PromptDetail.extend({ published: PromptText.nullable(), latest: PromptText }),
  async handle(rooms, { id }) {
    const { prompts } = rooms;
    const prompt = await prompts.get(id);
    const { publishedVersion, latestVersion } = prompt;
    const latest = await prompts.getVersion(id, latestVersion);
    const isOther = publishedVersion !== null && publishedVersion !== latestVersion;
    const published = isOther ? await prompts.getVersion(id, publishedVersion) : latest;
    const ownerExists = hasOwner(rooms, prompt);
    return { ...prompt, ownerExists, published: publishedVersion === null ? null : published, latest };
  },
});

export const updatePrompt = operation({
  ...ROOM,
  id: 'prompts.update',
  summary: 'Rename a prompt or change its note',
  route: 'PATCH /api/prompts/:id',
  kind: 'write',
  errors: ['prompt_not_found'],
  input: z.strictObject({ id: z.string(), name: LINE.optional(), note: PromptInput.shape.note.unwrap().optional() }),
  output: Prompt,
  before: ({ prompts }, { id }) => prompts.get(id),
  handle: ({ prompts }, { id, ...change }) => prompts.update(id, withoutUndefined(change)),
});

export const deletePrompt = operation({
  ...ROOM,
  id: 'prompts.delete',
  summary: 'Delete a prompt with all its versions',
  route: 'DELETE /api/prompts/:id',
  kind: 'write',
  confirm: true,
  cli: 'prompts delete',
  errors: ['prompt_not_found'],
  input: z.strictObject({ id: z.string() }),
  output: z.object({ deleted: z.boolean() }),
  before: ({ prompts }, { id }) => prompts.get(id),
  async handle({ prompts }, { id }) {
    await prompts.remove(id);
    return { deleted: true };
  },
});

// --- internal ---

function hasOwner(
  { catalog, gate }: { catalog: Owners; gate: Gate },
  { ownerKind, ownerName }: PromptKey,
): boolean | null {
  if (ownerKind === 'workspace') return true;
  if (!gate.state().open) return null;
  if (ownerKind === 'workflow') return catalog.findWorkflow(ownerName) !== undefined;
  const [agent = '', subagent] = ownerName.split('/');
  const found = catalog.findAgent(agent)?.definition;
  if (subagent !== undefined) return found?.subagents.has(subagent) === true;
  return agent === COPILOT_AGENT || catalog.findAgent(agent) !== undefined;
}
