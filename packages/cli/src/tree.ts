import { usageError } from './errors.ts';
import { findNearest } from './nearest.ts';
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
    dev: {
      summary: 'Run the workspace on this machine with hot reload.',
      load: async () => (await import('./commands/dev.ts')).dev,
    },
    build: {
      summary: 'Build the workspace into a folder that a deployed box runs.',
      load: async () => (await import('./commands/build.ts')).build,
    },
    start: {
      summary: 'Run the built workspace on this machine as a container would.',
      load: async () => (await import('./commands/start.ts')).start,
    },
    check: {
      summary: 'Find what is wrong in the code of the workspace before anything runs.',
      load: async () => (await import('./commands/check.ts')).check,
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
    runs: {
      summary: 'See the runs of a box.',
      verbs: {
        list: {
          summary: 'List runs, newest first.',
          load: async () => (await import('./commands/runs/list.ts')).listRuns,
        },
        get: {
          summary: 'Show one run with its input, output and tokens.',
          load: async () => (await import('./commands/runs/get.ts')).getRun,
        },
      },
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

function unknownVerb(group: Group, words: string[], typed: readonly string[]) {
  const [word = '', next = ''] = typed;
  const near = findNearest(word, Object.keys(group.verbs));
  // A word that names no group may be the last word of a verb: `svc start` is `svc workflows start`.
  const meant = near ? [...words, near].join(' ') : listPaths(group, words).find((path) => path.endsWith(` ${word}`));
  const problem = `There is no verb "${[...words, word].join(' ')}".`;
  if (!meant) return usageError(problem, `Run \`${['svc', ...words, '--help'].join(' ')}\` to see the verbs.`);
  const node = near ? group.verbs[near] : undefined;
  const whole = node && isGroup(node) && Object.hasOwn(node.verbs, next) ? `${meant} ${next}` : meant;
  return usageError(`${problem} Did you mean "${whole}"?`, `Run \`svc ${whole}\`.`);
}

function listPaths(group: Group, words: string[]): string[] {
  return Object.entries(group.verbs).flatMap(([word, node]) =>
    isGroup(node) ? listPaths(node, [...words, word]) : [[...words, word].join(' ')],
  );
}
