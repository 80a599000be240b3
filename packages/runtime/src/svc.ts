import { openSession } from './agent-client.ts';
import { chat, embed } from './ai-client.ts';
import { readConfig, readPrompt, renderPublished } from './box-values.ts';
import type { PromptOptions } from './box-values.ts';
import { callsOf } from './browser/code.ts';
import type { BrowserCalls } from './browser/code.ts';
import type { BrowserRoom } from './browser/browser.ts';
import type { AgentSession, AnswerOf } from './agent-client.ts';
import { startManyWorkflows, startWorkflow, startWorkflowAndWait } from './engine/primitives/child-workflow.ts';
import type { ManyChildStart, ManyChildStarted } from './engine/primitives/child-workflow.ts';
import { sendEvent, waitForEvent } from './engine/primitives/event.ts';
import type { EventSendOptions, EventWaitOptions } from './engine/primitives/event.ts';
import type { EventReceipt, SentEvent } from './engine/events.ts';
import { continueAsNew } from './engine/primitives/continue-as-new.ts';
import { currentContext } from './engine/context.ts';
import type {
  ChildStartHow,
  ConnectionCalls,
  PromptAnswer,
  ScheduledWorkflow,
  StartedWorkflow,
} from './engine/handle.ts';
import type { RagAdded, RagAddedFile, RagDocument, RagFile, RagHit, RagSearchOptions } from './engine/rag-calls.ts';
import { contextOf } from './engine/started-by.ts';
import type { RunContext } from './engine/started-by.ts';
import { publish } from './engine/primitives/publish.ts';
import { readVersion } from './engine/primitives/version.ts';
import { scheduleWorkflow, unscheduleWorkflow } from './engine/primitives/schedule.ts';
import type { ScheduleOptions } from './engine/primitives/schedule.ts';
import { addKnowledge, addKnowledgeFile, deleteKnowledge, searchKnowledge } from './rag-client.ts';
import { codeLog } from './logs/code-log.ts';
import type { PromptVariables } from './prompts/render.ts';
import type { ConfigValueOf, DatabaseRegister, KnownConfigKey } from './register.ts';
import type {
  KnownAgent,
  KnownConnection,
  KnownPrompt,
  KnownSecret,
  KnownWorkflow,
  WorkflowInput,
  WorkflowOutput,
} from './register.ts';
import { storageMissing } from './storage/objects.ts';
import type { Storage } from './storage/storage.ts';
import type { Drizzle } from './stores/drizzle.ts';

/** With the tables of `src/schema.ts` under `query`, in the words of the project's own drizzle-orm. */
type ProjectDatabase = DatabaseRegister extends { database: infer D } ? D : Drizzle;

/** What a workflow, a step or a tool can reach of the box it runs in. */
export const svc = {
  /**
   * The relational store of the box, through drizzle, in a step or a tool: `svc.database.select().from(users)`. The tables
   * are those of `src/schema.ts`, and are under `query` as well: `svc.database.query.users.findMany()`. `execute` answers
   * the rows.
   */
  get database(): ProjectDatabase {
    return openDatabase() as ProjectDatabase;
  },
  /**
   * Who made this run begin: `svc.context.caller`, and the end user it is for: `svc.context.user`, or null. In a workflow
   * body, a step or a tool. What a run starts has the same; a timer's is `{ kind: 'box' }`.
   */
  get context(): RunContext {
    const context = currentContext();
    if (!context) throw new Error('There is no run here. Use svc.context in a workflow, a step or a tool.');
    return contextOf(context.execution.run);
  },
  /** An agent of this box, to talk to: `svc.agent('support').session().send('Hello')`. */
  agent: <N extends KnownAgent>(name: N) => ({
    /** @param id names the conversation; the same name goes on with it in any run. Default: a new one */
    session: (id?: string): AgentSession<AnswerOf<N>> => openSession(name, id),
  }),
  /**
   * Logs for whoever operates the box: `svc.log.info('Charged.', { amount })`. The records are kept, and name the run and the
   * step. A workflow body says a line once, however often it is replayed.
   */
  log: codeLog,
  /**
   * Single calls of a model, through the provider of the box: `svc.ai.chat({ prompt })`, `svc.ai.embed({ input })`. What
   * they use is counted for the step and the run. In a workflow body each is one recorded call, so a replay has the same
   * answer.
   */
  ai: { chat, embed },
  /**
   * Collections of texts: `svc.rag.search('handbook', 'How do I book leave?')`. A search answers the nearest chunks, by what
   * they mean and by their words, the best first. In a workflow body each call is recorded, so a replay has the same answer.
   */
  rag: {
    /** Chunks, each with its score, its document and its place in it. Throws `rag_collection_not_found`. */
    search: (collection: string, query: string, options?: RagSearchOptions): Promise<RagHit[]> =>
      searchKnowledge(collection, query, options),
    /**
     * Adds a document, or replaces that of the same id. Answers at once; the box embeds it soon after, and until then the
     * version before answers. The same document once more changes nothing.
     */
    add: (collection: string, document: RagDocument): Promise<RagAdded> => addKnowledge(collection, document),
    /**
     * Adds what is in a file as a document: `{ name: 'terms.pdf', content: bytes }`. Text, Markdown, HTML, CSV, JSON, PDF and DOCX; its
     * text is read before this answers, and the file is not kept. Throws `file_type_unsupported`, `file_unreadable` with the
     * reason, `payload_too_large` above 32 MiB.
     */
    addFile: (collection: string, file: RagFile): Promise<RagAddedFile> => addKnowledgeFile(collection, file),
    /** False: there is no such document (any more). */
    delete: (collection: string, id: string): Promise<boolean> => deleteKnowledge(collection, id),
  },
  prompts: {
    /**
     * The published prompt of the key, of the agent or workflow that runs, or else of the workspace. Throws when there is
     * none. The run is marked with the version. In a workflow body it is recorded, so a replay has the same text.
     * Where `svc.config.ts` lists `prompts`, the key is one of them.
     */
    get: (key: KnownPrompt, options?: PromptOptions): Promise<PromptAnswer> => readPrompt(key, options),
    /** The text of the published prompt with `{{name}}` replaced by the variable of that name. */
    render: (key: KnownPrompt, variables: PromptVariables, options?: PromptOptions): Promise<string> =>
      renderPublished(key, variables, options),
  },
  config: {
    /** What is in force for a key of `config.schema.ts`. In a workflow body it is recorded, so a replay has the same value. */
    get: <K extends KnownConfigKey>(key: K): Promise<ConfigValueOf<K>> => readConfig(key) as Promise<ConfigValueOf<K>>,
  },
  /**
   * Objects in the bucket of the box, in a step or a tool: `svc.storage.put('reports/1.txt', text)`. The keys are those of
   * this box alone, whatever else is in the bucket.
   */
  storage: {
    put: async (...args) => openStorage().put(...args),
    get: async (...args) => openStorage().get(...args),
    stream: async (...args) => openStorage().stream(...args),
    stat: async (...args) => openStorage().stat(...args),
    list: async (...args) => openStorage().list(...args),
    delete: async (...args) => openStorage().delete(...args),
    deletePrefix: async (...args) => openStorage().deletePrefix(...args),
    copy: async (...args) => openStorage().copy(...args),
    move: async (...args) => openStorage().move(...args),
    url: async (...args) => openStorage().url(...args),
  } satisfies Storage as Storage,
  /**
   * A service of others, in a step or a tool: `svc.connection('github').fetch('/user')`. The credential is added by the box,
   * refreshed when it ends, and goes to the service's own origins alone. An operator makes the connection.
   */
  connection: (id: KnownConnection): ConnectionCalls => ({
    fetch: async (input, init) => openConnection(id).fetch(input, init),
    signInUrl: async () => openConnection(id).signInUrl(),
  }),
  /**
   * The browser of the box, in a step or a tool: `svc.browser.page(async (page) => page.title())`. The page is one of
   * Playwright, in a session of its own that nothing is left of. An operator sets which browser it is.
   */
  browser: {
    open: async () => openBrowser().open(),
    page: async (work) => openBrowser().page(work),
  } satisfies BrowserCalls as BrowserCalls,
  workflows: {
    /**
     * Starts another workflow. Its run is cancelled with this one. In a workflow body it is recorded, so it starts once.
     * `options`: when it begins, its priority, and an id of its own: `{ delay: '10m', priority: 5, id: 'order-7' }`.
     */
    start: <N extends KnownWorkflow>(
      name: N,
      input: WorkflowInput<N>,
      options?: ChildStartHow,
    ): Promise<StartedWorkflow> => startWorkflow(name, input, options),
    /**
     * Starts up to 500 runs of a workflow at once: `[{ input, delay?, id?, parentClosePolicy?, … }]`. Answers, in their order,
     * the outcome of each: `status` is `started`, `queued`, or `refused` with the `error` that `start` would have thrown. In a
     * workflow body each start is recorded by itself.
     */
    startMany: <N extends KnownWorkflow>(
      name: N,
      items: readonly ManyChildStart<WorkflowInput<N>>[],
    ): Promise<ManyChildStarted[]> => startManyWorkflows(name, items),
    /** Starts another workflow and answers its output; what ends it otherwise is thrown, with its error as the cause. */
    startAndWait: <N extends KnownWorkflow>(
      name: N,
      input: WorkflowInput<N>,
      options?: ChildStartHow,
    ): Promise<WorkflowOutput<N>> => startWorkflowAndWait(name, input, options) as Promise<WorkflowOutput<N>>,
    /**
     * Arms a timer that starts a workflow, again and again (`cron`) or once (`at`, `in`). It outlives this run, is among the
     * recurring jobs, and is armed once however often the code is repeated.
     */
    schedule: <N extends KnownWorkflow>(
      name: N,
      input: WorkflowInput<N>,
      options: ScheduleOptions,
    ): Promise<ScheduledWorkflow> => scheduleWorkflow(name, input, options),
    /** Removes a timer that `schedule` made, by its id. False: there is none (any more). */
    unschedule: (id: string): Promise<boolean> => unscheduleWorkflow(id),
  },
  events: {
    /**
     * Sends an event by its name. Runs that wait for it now are resumed, and each workflow with `on = { event }` starts a run
     * with the payload as its input: once, and nothing is kept for those who come later. In a workflow body it is recorded, in
     * a step it has the step's idempotency key: either way it is sent once.
     */
    send: (name: string, payload: unknown, options?: EventSendOptions): Promise<EventReceipt> =>
      sendEvent(name, payload, options),
    /**
     * Waits, in a workflow body, for the next event of the name: `svc.events.wait('order.paid', { match: { orderId }, timeout: '2d' })`.
     * Answers it, with its `payload`, or undefined once the timeout is over.
     */
    wait: <T = unknown>(name: string, options?: EventWaitOptions): Promise<SentEvent<T> | undefined> =>
      waitForEvent<T>(name, options),
  },
  /**
   * Publishes what the run is at: whoever looks reads the last one, while it runs and after, at `GET /api/runs/:id/state`
   * and as a stream. Plain data of up to 64 KiB, in a body or a step. Where the workflow's file exports a `stateSchema`,
   * what that gives is published, and a value it does not take is thrown as `workflow_state_invalid`.
   */
  publish: (state: unknown): void => publish(state),
  /**
   * Ends this run and begins the next of its chain with another input, in one commit: for a workflow that never ends.
   * Open hooks with unread payloads, attributes, children, locks and whoever waits go over to the next run. In a body.
   */
  continueAsNew: (input: unknown): never => continueAsNew(input),
  /**
   * Which version of a change of the code this run has, in the body of a workflow: `if (svc.version('new-tax')) …`. 1 (or `newest`)
   * where the run comes to this place for the first time, 0 where it has been here by code that did not ask: there it goes on as
   * it did. The first answer stays. The name: 1 to 100 letters, digits and `. _ : / -`, at most 100 of them a run.
   */
  version: (change: string, newest?: number): number => readVersion(change, newest),
  secrets: {
    /**
     * The value of a secret of the workspace, in a step or a tool. Use it there and do not return it: what a step answers
     * is kept with the run. Throws `secret_not_found`. Where `svc.config.ts` lists `secrets`, the name is one of them.
     */
    get: (name: KnownSecret): Promise<string> => readSecret(name),
  },
};

// --- internal ---

async function readSecret(name: string): Promise<string> {
  const context = currentContext();
  if (context?.kind === 'step') return context.execution.ambient.readSecret(name);
  const where = context
    ? 'A workflow body cannot use svc.secrets: what it reads would be kept in the history of the run'
    : 'There is no run here';
  throw new Error(`${where}. Use svc.secrets.get in the step or the tool that needs the value.`);
}

function openConnection(id: string): ConnectionCalls {
  const context = currentContext();
  if (context?.kind === 'step') {
    const { ambient, run } = context.execution;
    return ambient.connection({ id, run, signal: context.signal });
  }
  const where = context ? 'A workflow body cannot use svc.connection, as it is replayed' : 'There is no run here';
  throw new Error(`${where}. Use svc.connection in a step or a tool.`);
}

function openBrowser(): BrowserCalls {
  const context = currentContext();
  if (context?.kind === 'step') return callsOf(context.execution.ambient.browser as BrowserRoom, context);
  const where = context ? 'A workflow body cannot use svc.browser, as it is replayed' : 'There is no run here';
  throw new Error(`${where}. Use svc.browser in a step or a tool.`);
}

function openDatabase(): Drizzle {
  const context = currentContext();
  if (context?.kind === 'step') return context.execution.ambient.database as Drizzle;
  const where = context ? 'A workflow body cannot use svc.database, as it is replayed' : 'There is no run here';
  throw new Error(`${where}. Use svc.database in a step or a tool.`);
}

function openStorage(): Storage {
  const context = currentContext();
  if (context?.kind !== 'step') {
    const where = context ? 'A workflow body cannot use svc.storage, as it is replayed' : 'There is no run here';
    throw new Error(`${where}. Use svc.storage in a step or a tool.`);
  }
  const storage = context.execution.ambient.storage as Storage | undefined;
  if (storage) return storage;
  throw storageMissing();
}
