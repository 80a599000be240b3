import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { PromptDiff } from './diff.ts';
import { NOTE, ROOM, TEXT } from './inputs.ts';
import { Prompt, PromptText, PromptVersion } from './store.ts';
import type { Prompts } from './prompts.ts';

const operation = operationsOf<{ prompts: Prompts }>();

const id = z.string();
const version = z.coerce.number().int().min(1).max(1_000_000_000);

export const listPromptVersions = operation({
  ...ROOM,
  id: 'prompts.versions',
  summary: 'List the versions of a prompt, which never change, newest first',
  route: 'GET /api/prompts/:id/versions',
  kind: 'read',
  cli: 'prompts versions',
  errors: ['prompt_not_found'],
  input: z.strictObject({ id, ...Page }),
  output: z.object({ items: z.array(PromptVersion), nextCursor: z.string().nullable() }),
  handle: ({ prompts }, { id: prompt, ...page }) => prompts.listVersions(prompt, withoutUndefined(page)),
});

export const getPromptVersion = operation({
  ...ROOM,
  id: 'prompts.version',
  summary: 'Get one version of a prompt with its text',
  route: 'GET /api/prompts/:id/versions/:version',
  kind: 'read',
  errors: ['prompt_not_found', 'prompt_version_not_found'],
  input: z.strictObject({ id, version }),
  output: PromptText,
  handle: ({ prompts }, input) => prompts.getVersion(input.id, input.version),
});

export const addPromptVersion = operation({
  ...ROOM,
  id: 'prompts.add_version',
  summary: 'Save a new version of a prompt, which is a draft until it is published',
  route: 'POST /api/prompts/:id/versions',
  kind: 'write',
  cli: 'prompts update',
  status: 201,
  errors: ['prompt_not_found', 'prompt_too_large'],
  input: z.strictObject({ id, text: TEXT, note: NOTE }),
  output: PromptText,
  handle: ({ prompts }, { id: prompt, ...given }, { caller }) =>
    prompts.addVersion(prompt, { ...given, by: caller.name }),
});

export const diffPromptVersions = operation({
  ...ROOM,
  id: 'prompts.diff',
  summary: 'Compare two versions of a prompt by line; by default the published one with the latest',
  route: 'GET /api/prompts/:id/diff',
  kind: 'read',
  errors: ['prompt_not_found', 'prompt_version_not_found'],
  input: z.strictObject({ id, from: version.optional(), to: version.optional() }),
  output: PromptDiff,
  handle: ({ prompts }, { id: prompt, ...versions }) => prompts.diff(prompt, withoutUndefined(versions)),
});

export const publishPrompt = operation({
  ...ROOM,
  id: 'prompts.publish',
  summary: 'Publish a version of a prompt, by default the latest',
  route: 'POST /api/prompts/:id/publish',
  kind: 'write',
  cli: 'prompts publish',
  errors: ['prompt_not_found', 'prompt_version_not_found'],
  input: z.strictObject({ id, version: version.optional() }),
  output: Prompt,
  before: ({ prompts }, input) => prompts.get(input.id),
  handle: ({ prompts }, input, { caller }) => prompts.publish(input.id, input.version, caller.name),
});

export const rollbackPrompt = operation({
  ...ROOM,
  id: 'prompts.rollback',
  summary: 'Publish the version of a prompt that was live before',
  route: 'POST /api/prompts/:id/rollback',
  kind: 'write',
  cli: 'prompts rollback',
  errors: ['prompt_not_found', 'prompt_not_published_before'],
  input: z.strictObject({ id }),
  output: Prompt,
  before: ({ prompts }, input) => prompts.get(input.id),
  handle: ({ prompts }, input, { caller }) => prompts.rollback(input.id, caller.name),
});
