import type { RouteDoc } from '../http/route-doc.ts';
import type { Operation } from '../operations/define.ts';

/** What is under each tag. Every tag has one. */
const TAGS: Record<string, string> = {
  activity: 'Who changed or decided what, and when',
  agui: 'Agents over AG-UI, for user interfaces',
  approvals: 'What waits for a person, and the decision',
  catalog: 'The agents and workflows there are, and the operations of this box',
  'chat-completions': 'Agents over the chat-completions protocol',
  database: 'The tables of the project, read without a way to change them',
  config: 'Values that code reads while it runs, with their history',
  browser: 'The browser that code and agents open pages in',
  connections: 'Services of others that code calls, and how they know this box',
  evals: 'Cases, suites of them, and what came of running these',
  events: 'What happens to runs, steps, sessions and approvals, as it happens',
  guardrails: 'Rules about what may pass, and what they have found',
  health: 'Whether the box works, what it is and who asks',
  jobs: 'Timers that start workflows',
  notify: 'Messages to those who are notified of runs that stop',
  keys: 'API keys of programs, and what each may call',
  'ui-messages': 'Agents over the UI message stream of the AI SDK, for `useChat`',
  usage: 'What agents and API keys use of models, and of their limits',
  logs: 'What was logged, stored and live',
  mcp: 'The operations of this box as tools of the Model Context Protocol',
  messages: 'Agents over the messages protocol',
  prompts: 'Texts that agents are instructed with, in versions',
  provider: 'Where models come from',
  rag: 'Collections of texts that are searched by meaning and by words',
  reference: 'What this box serves',
  registration: 'The proof a control plane asks for',
  runs: 'Each execution of a workflow and each turn of an agent, with its steps',
  secrets: 'Values that code reads and the API never shows',
  sessions: 'Conversations with agents',
  settings: 'What holds for the whole workspace',
  storage: 'Objects in the bucket of the box',
  triggers: 'What outside services start here, and its outcome',
  webhooks: 'Addresses at which runs wait for a call from outside',
  workflows: 'Durable workflows: their schemas, their starts and their queues',
};

export function describeTag(name: string): { name: string; description?: string } {
  const description = TAGS[name];
  return description === undefined ? { name } : { name, description };
}

/** Who may call it and what comes of it, beside the summary. */
export function describeOperation(op: Operation): string {
  const { permission, keys, confirm, kind, activity, cli } = op;
  return toSentences([
    permission === 'none' ? 'Takes no credential' : `Needs the permission \`${permission}\``,
    keys && 'An API key may call it too, for what it is granted',
    confirm && 'Where a model calls it, a person is asked first',
    kind === 'write' && activity !== false && 'Is written down in the activity log',
    cli !== undefined && `As a command: \`svc ${cli}\``,
  ]);
}

export function describeRoute({ security, family = 'box' }: RouteDoc): string {
  return toSentences([WHO[security], family !== 'box' && 'Refuses as its protocol does']);
}

// --- internal ---

const WHO: Record<RouteDoc['security'], string> = {
  none: 'Takes no credential',
  key: 'Takes an API key, or the credential of a person whose role may chat',
  caller: 'Takes what lets a person or a program in',
  signature: 'Takes a signature of the control plane',
  sender: 'Takes the signature of its sender, as its trigger defines it',
};

function toSentences(parts: (string | false | undefined)[]): string {
  return parts.flatMap((part) => (part ? `${part}.` : [])).join(' ');
}
