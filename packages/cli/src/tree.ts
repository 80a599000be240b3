import { usageError } from './errors.ts';
import { findNearest } from './nearest.ts';
import { OPERATE } from './operate/verbs.ts';
import type { OperateGroup } from './operate/verbs.ts';
import type { Verb } from './verb.ts';

/** Verbs are imported when they run: `svc --help` and one verb never pay for the others. */
export interface Leaf {
  summary: string;
  load(): Promise<Verb>;
}

export interface Group {
  summary: string;
  verbs: Record<string, Leaf | Group>;
}

export interface Found {
  /** The words that lead here, without `svc`. */
  path: string;
  node: Leaf | Group;
  /** What follows the words. */
  rest: string[];
}

export const TREE: Group = {
  summary: 'Run a workspace of agents and durable workflows, and operate it.',
  verbs: {
    init: {
      summary: 'Make a workspace.',
      load: async () => (await import('./commands/init.ts')).init,
    },
    add: {
      summary: 'Add an agent or a workflow to the workspace.',
      verbs: {
        agent: {
          summary: 'Add an agent.',
          load: async () => (await import('./commands/add/agent.ts')).addAgent,
        },
        'deep-agent': {
          summary: 'Another name of `svc add agent`.',
          load: async () => (await import('./commands/add/agent.ts')).addDeepAgent,
        },
        workflow: {
          summary: 'Add a workflow.',
          load: async () => (await import('./commands/add/workflow.ts')).addWorkflow,
        },
        'workflow-agent': {
          summary: 'Add an agent, and a workflow that holds a conversation with it.',
          load: async () => (await import('./commands/add/workflow-agent.ts')).addWorkflowAgent,
        },
      },
    },
    login: {
      summary: 'Sign in to a control plane.',
      load: async () => (await import('./commands/login.ts')).login,
    },
    logout: {
      summary: 'End the session that `svc login` began.',
      load: async () => (await import('./commands/logout.ts')).logout,
    },
    whoami: {
      summary: 'Show who is signed in.',
      load: async () => (await import('./commands/whoami.ts')).whoami,
    },
    link: {
      summary: 'Register a deployed box at the control plane.',
      load: async () => (await import('./commands/link.ts')).link,
    },
    dev: {
      summary: 'Run the workspace on this machine with hot reload.',
      load: async () => (await import('./commands/dev.ts')).dev,
    },
    build: {
      summary:
        'Build the workspace into a folder that a deployed box runs. Its modules are loaded once, to check them.',
      load: async () => (await import('./commands/build.ts')).build,
    },
    package: {
      summary: 'Write a folder that deploys the workspace with docker compose.',
      load: async () => (await import('./commands/package.ts')).packageWorkspace,
    },
    start: {
      summary: 'Run the built workspace on this machine as a container would.',
      load: async () => (await import('./commands/start.ts')).start,
    },
    check: {
      summary: 'Find what is wrong with the workspace: build it, load its modules as a box would, and keep nothing.',
      load: async () => (await import('./commands/check.ts')).check,
    },
    schema: {
      summary: "Migrate the project's own tables, those of src/schema.ts.",
      verbs: {
        status: {
          summary: 'Show what is applied, what is pending and what is to be decided.',
          load: async () => (await import('./commands/schema/status.ts')).showSchema,
        },
        generate: {
          summary: 'Write the migration for what src/schema.ts says by now.',
          load: async () => (await import('./commands/schema/generate.ts')).generateMigration,
        },
        apply: {
          summary: 'Apply the migrations the database has not got yet.',
          load: async () => (await import('./commands/schema/apply.ts')).applyMigrations,
        },
      },
    },
    workflows: {
      summary: 'See and start the workflows of a box.',
      verbs: {
        list: {
          summary: 'List the workflows a box exposes.',
          load: async () => (await import('./commands/workflows/list.ts')).listWorkflows,
        },
        schema: {
          summary: 'Show what a workflow accepts and answers, as JSON Schema.',
          load: async () => (await import('./commands/workflows/schema.ts')).showSchema,
        },
        start: {
          summary: 'Start a run of a workflow.',
          load: async () => (await import('./commands/workflows/start.ts')).startWorkflow,
        },
      },
    },
    ...toGroups(OPERATE),
    why: {
      summary: 'Say why a run stands where it stands.',
      load: async () => (await import('./commands/why.ts')).explainRun,
    },
    pull: {
      summary: 'Bring home what a box has.',
      verbs: {
        run: {
          summary: 'Write the history of a run into a file, with its secrets masked.',
          load: async () => (await import('./commands/pull/run.ts')).pullRun,
        },
      },
    },
    replay: {
      summary: 'Lead the code of the workspace through the history of a run.',
      load: async () => (await import('./commands/replay/replay.ts')).replayRun,
    },
    contract: {
      summary: 'See what a box can do.',
      verbs: {
        show: {
          summary: 'Show the protocol version and capabilities of a box.',
          load: async () => (await import('./commands/contract/show.ts')).showContract,
        },
        validate: {
          summary: 'Check that a box offers what the workspace needs.',
          load: async () => (await import('./commands/contract/validate.ts')).validateContract,
        },
      },
    },
    complete: {
      summary: 'Print the completion script of a shell.',
      load: async () => (await import('./complete/complete.ts')).complete,
    },
  },
};

/** Walks the words of the command line to a verb, or to a group when they end there. Throws on a word that is neither. */
export function findVerb(args: readonly string[]): Found {
  const words: string[] = [];
  let node: Leaf | Group = TREE;
  while (isGroup(node)) {
    const word: string | undefined = args[words.length];
    if (word === undefined) break;
    if (word.startsWith('-'))
      throw usageError(
        `"${word}" stands before the verb.`,
        'Put flags after the verb: svc workflows list --agent <id>.',
      );
    const next: Leaf | Group | undefined = Object.hasOwn(node.verbs, word) ? node.verbs[word] : undefined;
    if (!next) throw unknownVerb(node, words, args.slice(words.length));
    node = next;
    words.push(word);
  }
  return { path: words.join(' '), node, rest: args.slice(words.length) };
}

export function isGroup(node: Leaf | Group): node is Group {
  return 'verbs' in node;
}

// --- internal ---

function toGroups(groups: Record<string, OperateGroup>): Record<string, Group> {
  return Object.fromEntries(
    Object.entries(groups).map(([group, { summary, verbs }]) => [group, { summary, verbs: toLeaves(group, verbs) }]),
  );
}

function toLeaves(group: string, verbs: OperateGroup['verbs']): Record<string, Leaf> {
  return Object.fromEntries(
    Object.entries(verbs).map(([word, { summary }]) => {
      const load = async () => (await import('./operate/project.ts')).loadOperateVerb(`${group} ${word}`);
      return [word, { summary, load }];
    }),
  );
}

function unknownVerb(group: Group, words: string[], typed: readonly string[]) {
  const [word = '', next = ''] = typed;
  const near = findNearest(word, Object.keys(group.verbs));
  // A word that names no group may be the last word of a verb: `svc start` is `svc workflows start`.
  const meant = near ? [...words, near].join(' ') : listPaths(group, words).find((path) => path.endsWith(` ${word}`));
  const problem = `There is no verb "${[...words, word].join(' ')}".`;
  if (!meant) return usageError(problem, `Run \`${['svc', ...words, '--help'].join(' ')}\` to see the verbs.`);
  const node = near ? group.verbs[near] : undefined;
  const whole = node && isGroup(node) && Object.hasOwn(node.verbs, next) ? `${meant} ${next}` : meant;
  const isOpen = node !== undefined && isGroup(node) && whole === meant;
  return usageError(
    `${problem} Did you mean "${whole}"?`,
    isOpen ? `Run \`svc ${whole} --help\` to see its verbs.` : `Run \`svc ${whole}\`.`,
  );
}

function listPaths(group: Group, words: string[]): string[] {
  return Object.entries(group.verbs).flatMap(([word, node]) =>
    isGroup(node) ? listPaths(node, [...words, word]) : [[...words, word].join(' ')],
  );
}
