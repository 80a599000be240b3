/** The verbs that are projections of operations: known without loading the registry, which a test holds them to. */
export interface OperateVerb {
  summary: string;
  /** The id of its operation. */
  operation: string;
}

export interface OperateGroup {
  summary: string;
  verbs: Record<string, OperateVerb>;
}

export const OPERATE: Record<string, OperateGroup> = {
  runs: {
    summary: 'See and control the runs of a box.',
    verbs: {
      list: { summary: 'List runs, newest first.', operation: 'runs.list' },
      get: { summary: 'Show one run with its input, output and tokens.', operation: 'runs.get' },
      steps: { summary: 'List the steps of a run in order.', operation: 'runs.steps' },
      retry: { summary: 'Start a run again, from the step that failed or from the start.', operation: 'runs.retry' },
      resume: { summary: 'Continue a blocked run on the current code.', operation: 'runs.resume' },
      cancel: { summary: 'Cancel a run and the runs it started.', operation: 'runs.cancel' },
      delete: { summary: 'Delete a finished run with its steps.', operation: 'runs.delete' },
    },
  },
  logs: {
    summary: 'Read the log of a box.',
    verbs: {
      list: { summary: 'Search the stored log records, newest first.', operation: 'logs.search' },
      tail: {
        summary: 'Follow log records as they come; with --run those of one run, to its end.',
        operation: 'logs.tail',
      },
    },
  },
  sessions: {
    summary: 'See the sessions of a box.',
    verbs: {
      list: { summary: 'List sessions, the last active first.', operation: 'sessions.list' },
      get: { summary: 'Show one session with its tokens and what it waits for.', operation: 'sessions.get' },
      delete: { summary: 'Delete a session with its turns and their runs.', operation: 'sessions.delete' },
    },
  },
  hitl: {
    summary: 'Decide what runs ask a person.',
    verbs: {
      list: { summary: 'List approvals, pending first.', operation: 'approvals.list' },
      get: { summary: 'Show what is asked, by which run, and who decided.', operation: 'approvals.get' },
      approve: { summary: 'Approve; the run goes on at once.', operation: 'approvals.decide' },
      reject: { summary: 'Reject; the run goes on at once.', operation: 'approvals.decide' },
    },
  },
  jobs: {
    summary: 'See and control the timers of a box.',
    verbs: {
      list: { summary: 'List timers with their next and last firing.', operation: 'jobs.list' },
      pause: { summary: 'Stop a timer from firing.', operation: 'jobs.update' },
      resume: { summary: 'Let a paused timer fire again.', operation: 'jobs.update' },
      run: { summary: 'Fire a timer now, outside its schedule.', operation: 'jobs.run' },
    },
  },
  prompts: {
    summary: 'Write, publish and roll back prompts.',
    verbs: {
      list: { summary: 'List prompts, newest first.', operation: 'prompts.list' },
      get: { summary: 'Show one prompt with its published and its latest text.', operation: 'prompts.get' },
      create: { summary: 'Create a prompt; its first version is a draft.', operation: 'prompts.create' },
      update: { summary: 'Save a new version of a prompt, which is a draft.', operation: 'prompts.add_version' },
      versions: { summary: 'List the versions of a prompt, newest first.', operation: 'prompts.versions' },
      publish: { summary: 'Publish a version of a prompt, the latest unless told.', operation: 'prompts.publish' },
      rollback: { summary: 'Publish the version that was live before.', operation: 'prompts.rollback' },
      delete: { summary: 'Delete a prompt with all its versions.', operation: 'prompts.delete' },
    },
  },
  config: {
    summary: 'Read and set the dynamic configuration.',
    verbs: {
      list: { summary: 'List the keys with value, default and revision.', operation: 'config.list' },
      get: { summary: 'Show one key with its type and default.', operation: 'config.get' },
      set: { summary: 'Set a key to a value of its type.', operation: 'config.set' },
      unset: { summary: 'Drop the value of a key, so that its default is in force.', operation: 'config.delete' },
    },
  },
  secrets: {
    summary: 'Write, rotate and delete secrets; nobody reads them.',
    verbs: {
      list: { summary: 'List the names of secrets; never a value.', operation: 'secrets.list' },
      set: { summary: 'Write a secret once.', operation: 'secrets.set' },
      rotate: { summary: 'Replace the value of a secret.', operation: 'secrets.rotate' },
      delete: { summary: 'Delete a secret.', operation: 'secrets.delete' },
    },
  },
  keys: {
    summary: 'Make and revoke API keys.',
    verbs: {
      list: { summary: 'List API keys with what they are granted.', operation: 'keys.list' },
      create: { summary: 'Create an API key; its value is shown once.', operation: 'keys.create' },
      revoke: { summary: 'Revoke an API key at once.', operation: 'keys.revoke' },
    },
  },
  catalog: {
    summary: 'See what a box holds.',
    verbs: {
      list: { summary: 'List agents, workflows, tools and prompts.', operation: 'catalog.list' },
    },
  },
  activity: {
    summary: 'See who changed or decided what.',
    verbs: {
      list: { summary: 'List changes and decisions, newest first.', operation: 'activity.list' },
      get: { summary: 'Show one change with what was before and after it.', operation: 'activity.get' },
    },
  },
};

/** The verb of these words, as in `runs list`. */
export function findOperateVerb(path: string): OperateVerb | undefined {
  const [group = '', word = ''] = path.split(' ');
  return OPERATE[group]?.verbs[word];
}
