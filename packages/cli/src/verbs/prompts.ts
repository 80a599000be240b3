import type { OperationForm } from '../operations/form.ts';
import type { Row } from '../operations/row.ts';
import { operationGroup } from '../operations/group.ts';
import { SAMPLE_ID } from './samples.ts';

export const prompts = operationGroup({
  summary: 'Write, publish and roll back prompts.',
  page: 'prompts',
  examples: ['svc prompts list', 'svc prompts publish <id>'],
  sample: SAMPLE_ID,
  verbs: {
    list: {
      summary: 'List prompts, newest first.',
      operation: 'prompts.list',
      columns: [
        'id:id',
        'owner=ownerKind',
        'of=ownerName:text',
        'key:name',
        'published=publishedVersion',
        'latest=latestVersion',
        'updated=updatedAt:ago',
        'name:text',
      ],
    },
    get: {
      summary: 'Show one prompt with its published and its latest text.',
      operation: 'prompts.get',
      form: async () => ({ human: (await import('../operations/prompt-card.ts')).formatPromptCard }),
    },
    create: {
      summary: 'Create a prompt; its first version is a draft.',
      operation: 'prompts.create',
      examples: [
        'svc prompts create greeting --owner-kind agent --owner-name support --name "Greeting" --file greeting.md',
        'svc prompts create tone --owner-kind workspace --name "Tone" --text "Be brief." --json',
      ],
      positionals: ['key'],
      form: loadText,
      done: 'Created',
      subject: ({ id, key }) => `prompt ${String(key)}, a draft: ${String(id)}`,
      hint: ({ id }) => `Publish it with: svc prompts publish ${String(id)}`,
    },
    update: {
      summary: 'Save a new version of a prompt, which is a draft.',
      operation: 'prompts.add_version',
      form: loadText,
      done: 'Saved',
      subject: ({ version }) => `version ${String(version)}, a draft`,
    },
    versions: {
      summary: 'List the versions of a prompt, newest first.',
      operation: 'prompts.versions',
      items: 'versions',
      columns: ['version', 'published=isPublished', 'by=createdBy:text', 'created=createdAt:ago', 'note:long'],
    },
    publish: {
      summary: 'Publish a version of a prompt, by default the latest.',
      operation: 'prompts.publish',
      done: 'Published',
      subject: publishedOf,
    },
    rollback: {
      summary: 'Publish the version that was live before.',
      operation: 'prompts.rollback',
      done: 'Rolled back to',
      subject: publishedOf,
    },
    delete: {
      summary: 'Delete a prompt with all its versions.',
      operation: 'prompts.delete',
      done: 'Deleted',
      subject: () => 'the prompt',
    },
  },
});

// --- internal ---

async function loadText(): Promise<OperationForm> {
  return (await import('../operations/prompt-text.ts')).PROMPT_TEXT;
}

function publishedOf({ key, publishedVersion }: Row): string {
  return `version ${String(publishedVersion)} of prompt ${String(key)}`;
}
