import type { Group } from './group.ts';
import { account } from './verbs/account.ts';
import { activity } from './verbs/activity.ts';
import { add } from './verbs/add.ts';
import { catalog } from './verbs/catalog.ts';
import { config } from './verbs/config.ts';
import { contract } from './verbs/contract.ts';
import { db } from './verbs/db.ts';
import { events } from './verbs/events.ts';
import { evals } from './verbs/eval.ts';
import { hitl } from './verbs/hitl.ts';
import { hooks } from './verbs/hooks.ts';
import { jobs } from './verbs/jobs.ts';
import { usage } from './verbs/usage.ts';
import { keys } from './verbs/keys.ts';
import { logs } from './verbs/logs.ts';
import { memory } from './verbs/memory.ts';
import { notify } from './verbs/notify.ts';
import { plane } from './verbs/plane.ts';
import { guardrails } from './verbs/guardrails.ts';
import { prompts } from './verbs/prompts.ts';
import { provider } from './verbs/provider.ts';
import { pull } from './verbs/pull.ts';
import { rag } from './verbs/rag.ts';
import { runs } from './verbs/runs.ts';
import { schema } from './verbs/schema.ts';
import { secrets } from './verbs/secrets.ts';
import { sessions } from './verbs/sessions.ts';
import { storage } from './verbs/storage.ts';
import { workflows } from './verbs/workflows.ts';

/** The command line, in the order of `svc --help`. */
export const TREE: Group = {
  summary: 'Run a workspace of agents and durable workflows, and operate it.',
  examples: ['svc dev', 'svc workflows start greet --input \'{"name":"Ada"}\''],
  verbs: {
    init: {
      summary: 'Make a workspace.',
      page: 'first-workspace',
      load: async () => (await import('./commands/init.ts')).init,
    },
    add,
    login: {
      summary: 'Sign in to a control plane.',
      page: 'dev',
      load: async () => (await import('./commands/login.ts')).login,
    },
    logout: {
      summary: 'End the session that `svc login` began.',
      page: 'dev',
      load: async () => (await import('./commands/logout.ts')).logout,
    },
    whoami: {
      summary: 'Show who is signed in.',
      page: 'dev',
      load: async () => (await import('./commands/whoami.ts')).whoami,
    },
    link: {
      summary: 'Register a deployed box at the control plane.',
      page: 'dev',
      load: async () => (await import('./commands/link.ts')).link,
    },
    account,
    plane,
    dev: {
      summary: 'Run the workspace on this machine with hot reload.',
      page: 'dev',
      load: async () => (await import('./commands/dev.ts')).dev,
    },
    build: {
      summary:
        'Build the workspace into a folder that a deployed box runs. Its modules are loaded once, to check them.',
      page: 'deploy',
      load: async () => (await import('./commands/build.ts')).build,
    },
    package: {
      summary: 'Write a folder that deploys the workspace with docker compose.',
      page: 'deploy',
      load: async () => (await import('./commands/package.ts')).packageWorkspace,
    },
    start: {
      summary: 'Run the built workspace on this machine as a container would.',
      page: 'deploy',
      load: async () => (await import('./commands/start.ts')).start,
    },
    check: {
      summary: 'Find what is wrong with the workspace: build it, load its modules as a box would, and keep nothing.',
      page: 'deploy',
      load: async () => (await import('./commands/check.ts')).check,
    },
    chat: {
      summary: 'Talk with an agent.',
      page: 'agents',
      load: async () => (await import('./commands/chat/chat.ts')).chat,
    },
    schema,
    workflows,
    runs,
    logs,
    sessions,
    memory,
    hitl,
    hooks,
    events,
    jobs,
    notify,
    prompts,
    guardrails,
    eval: evals,
    storage,
    config,
    secrets,
    db,
    rag,
    provider,
    keys,
    usage,
    catalog,
    activity,
    why: {
      summary: 'Explain the state of a run, and what to do next.',
      page: 'operating',
      load: async () => (await import('./commands/why.ts')).explainRun,
    },
    upgrade: {
      summary: 'Say which open runs the newest code fits, and move them to it.',
      page: 'upgrades',
      load: async () => (await import('./commands/upgrade/upgrade.ts')).upgrade,
    },
    pull,
    replay: {
      summary: 'Replay the history of a run through the code of the workspace.',
      page: 'operating',
      load: async () => (await import('./commands/replay/replay.ts')).replayRun,
    },
    contract,
    complete: {
      summary: 'Print the completion script of a shell.',
      load: async ({ root }) => (await import('./complete/complete.ts')).completeVerb(root),
    },
  },
};
