import type { ArgsDef } from 'citty';
import type { Style } from '../terminal/style.ts';
import type { Context } from '../context.ts';
import type { Row } from './columns.ts';
import { formatCreatedKey, formatPromptCard, formatRunCard } from './views.ts';
import { LOG_TAIL } from './log-tail.ts';
import type { StreamForm } from './stream.ts';
import { readConfigValue } from './config-value.ts';
import { KEY_FLAGS, readKey } from './key.ts';
import { readSecret, SECRET_FLAGS } from './secret-value.ts';
import { readPromptText, TEXT_FLAGS } from './prompt-text.ts';

/** What a verb does in another way than its operation says. */
export interface Special {
  /** Two commands that work as written; without them they are made up. */
  examples?: readonly [string, string];
  /** Members that are arguments, after those of the path. */
  positionals?: readonly string[];
  /** Members that say which of several verbs of one operation this is. */
  fixed?: Record<string, unknown>;
  /** Flags of its own, and what reads the members they stand for. */
  flags?: ArgsDef;
  replaces?: readonly string[];
  /** `text` as it was typed, where a flag means what it says even when it is empty. */
  mayBeEmpty?: readonly string[];
  read?(args: Record<string, unknown>, context: Context): Promise<Row>;
  /** The answer stands under this name: it has members that the document has too. */
  wrap?: string;
  /** False: the operation asks before it is called by a model alone. */
  asks?: false;
  human?(answer: Row, style: Style): string;
  /** A word for what was done: `Cancelled`. With it the answer is one line, and `subject` says of what. */
  done?: string;
  subject?(answer: Row): string;
  hint?(answer: Row): string | undefined;
  stream?: StreamForm;
}

/** By the words of the verb. */
export const SPECIALS: Record<string, Special | undefined> = {
  'runs list': { examples: ['svc runs list --status failed --limit 20', 'svc runs list --name greet --json'] },
  'runs get': { wrap: 'run', human: formatRunCard },
  'runs retry': {
    done: 'Started',
    subject: ({ runId, triggerId }) => (runId ? `run ${String(runId)}` : `start ${String(triggerId)}, which is queued`),
    hint: ({ runId }) => (runId ? `See it with: svc runs get ${String(runId)}` : undefined),
  },
  'runs resume': { wrap: 'run', done: 'Resumed', subject: runOf },
  'runs cancel': { wrap: 'run', done: 'Cancelled', subject: runOf },
  'runs delete': { done: 'Deleted', subject: runOf },
  'logs list': { examples: ['svc logs list --level error --from 2h', 'svc logs list --text refused --json'] },
  'logs tail': {
    examples: ['svc logs tail --level warn', `svc logs tail --run 0192f3b4-0000-7000-8000-000000000000`],
    stream: LOG_TAIL,
  },
  'sessions delete': { done: 'Deleted', subject: ({ sessionId }) => `session ${String(sessionId)}` },
  'hitl list': { examples: ['svc hitl list --status pending', 'svc hitl list --json'] },
  'hitl approve': { fixed: { decision: 'approve' }, done: 'Approved', subject: approvalOf },
  'hitl reject': { fixed: { decision: 'reject' }, done: 'Rejected', subject: approvalOf },
  'jobs pause': { fixed: { isPaused: true }, done: 'Paused', subject: jobOf },
  'jobs resume': { fixed: { isPaused: false }, done: 'Resumed', subject: jobOf },
  'jobs run': {
    done: 'Fired',
    subject: jobOf,
    hint: ({ lastRunId }) => (lastRunId ? `See its run with: svc runs get ${String(lastRunId)}` : undefined),
  },
  'prompts create': {
    examples: [
      'svc prompts create greeting --owner-kind agent --owner-name support --name "Greeting" --file greeting.md',
      'svc prompts create tone --owner-kind workspace --name "Tone" --text "Be brief." --json',
    ],
    positionals: ['key'],
    replaces: ['text'],
    flags: TEXT_FLAGS,
    read: readPromptText,
    done: 'Created',
    subject: ({ id, key }) => `prompt ${String(key)}, a draft: ${String(id)}`,
    hint: ({ id }) => `Publish it with: svc prompts publish ${String(id)}`,
  },
  'prompts get': { human: formatPromptCard },
  'prompts update': {
    replaces: ['text'],
    flags: TEXT_FLAGS,
    read: readPromptText,
    done: 'Saved',
    subject: ({ version }) => `version ${String(version)}, a draft`,
  },
  'prompts publish': { done: 'Published', subject: publishedOf },
  'prompts rollback': { done: 'Rolled back to', subject: publishedOf },
  'prompts delete': { done: 'Deleted', subject: () => 'the prompt' },
  'config set': {
    examples: ['svc config set greeting "Hello there"', 'svc config set limits \'{"perDay":5}\' --if-revision 3'],
    positionals: ['value'],
    replaces: ['value'],
    flags: { value: { type: 'positional', required: true, description: 'JSON, or text where the type is text.' } },
    mayBeEmpty: ['value'],
    read: readConfigValue,
    done: 'Set',
    subject: configOf,
  },
  'config unset': { done: 'Unset', subject: configOf },
  'secrets set': {
    examples: [
      'svc secrets set SMTP_PASSWORD --from-file password.txt',
      'svc secrets set SMTP_PASSWORD < password.txt',
    ],
    replaces: ['value'],
    flags: SECRET_FLAGS,
    // Refused with the reason, empty or not.
    mayBeEmpty: ['given'],
    read: readSecret,
    // It refuses a name that exists: nothing can be lost.
    asks: false,
    done: 'Stored',
    subject: secretOf,
  },
  'secrets rotate': {
    examples: [
      'svc secrets rotate SMTP_PASSWORD --from-file password.txt --yes',
      'svc secrets rotate SMTP_PASSWORD --yes < password.txt',
    ],
    replaces: ['value'],
    flags: SECRET_FLAGS,
    mayBeEmpty: ['given'],
    read: readSecret,
    done: 'Rotated',
    subject: secretOf,
  },
  'secrets delete': { done: 'Deleted', subject: secretOf },
  'keys create': {
    examples: [
      'svc keys create --name ci --agents support --workflows all --expires-in 30d',
      'svc keys create --name partner --workflows refund,triage --json',
    ],
    replaces: ['grants', 'expiresAt'],
    flags: KEY_FLAGS,
    read: readKey,
    human: formatCreatedKey,
    hint: () => 'It is not shown again.',
  },
  'keys revoke': { done: 'Revoked', subject: ({ id, name }) => `key ${String(name)} (${String(id)})` },
};

// --- internal ---

function runOf({ runId }: Row): string {
  return `run ${String(runId)}`;
}

function approvalOf({ approvalId, title }: Row): string {
  return `${String(approvalId)}: ${String(title)}`;
}

function jobOf({ id }: Row): string {
  return `job ${String(id)}`;
}

function publishedOf({ key, publishedVersion }: Row): string {
  return `version ${String(publishedVersion)} of prompt ${String(key)}`;
}

function configOf({ key, value, revision }: Row): string {
  return `${String(key)} = ${JSON.stringify(value)} (revision ${String(revision)})`;
}

function secretOf({ name }: Row): string {
  return `secret ${String(name)}`;
}
