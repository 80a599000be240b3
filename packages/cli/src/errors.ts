import { CommandError } from '../../create/src/errors.ts';
import type { Remedy } from '../../create/src/errors.ts';
import { findLeftOut, WHOLE_INSTALL } from '../../create/src/native.ts';

/** What a command ends with. Scripts read these: a value never changes. */
export const EXIT = {
  ok: 0,
  generic: 1,
  auth: 2,
  noTarget: 3,
  notFound: 4,
  interrupted: 130,
} as const;

/** The codes of the command line itself, and what it ends with. A box's own codes pass through it unchanged. */
export const CLI_CODES = {
  generic: {
    exitCode: EXIT.generic,
    meaning: 'A wrong flag, argument or verb, a busy port, or a bug; the message says which.',
  },
  invalid_json: { exitCode: EXIT.generic, meaning: 'What --input or --input-file holds is not JSON.' },
  secret_key_missing: {
    exitCode: EXIT.generic,
    meaning: 'The folder of a control plane has its database and not the key it was sealed with.',
  },
  secret_key_invalid: {
    exitCode: EXIT.generic,
    meaning: 'The key in the folder of a control plane is not 32 bytes in base64.',
  },
  file_unreadable: { exitCode: EXIT.generic, meaning: 'The file that is named, as by --input-file, cannot be read.' },
  object_exists: {
    exitCode: EXIT.generic,
    meaning: 'There is an object under the key that a file is uploaded to; --overwrite replaces it.',
  },
  storage_refused: {
    exitCode: EXIT.generic,
    meaning: 'The object storage refused a signed address; error.details.code is its own word for why.',
  },
  store_unavailable: {
    exitCode: EXIT.generic,
    meaning: 'The object storage at SVC_S3_ENDPOINT does not answer this machine.',
  },
  already_exists: { exitCode: EXIT.generic, meaning: 'What is to be made is there already; --force replaces it.' },
  history_invalid: { exitCode: EXIT.generic, meaning: 'The file is not the history of a run, or of another version.' },
  promote_refused: {
    exitCode: EXIT.generic,
    meaning: 'No test is written: its name is not that of a test, or the code does something else than the run did.',
  },
  name_invalid: { exitCode: EXIT.generic, meaning: 'A name has characters or a length that no name may have.' },
  name_refused: {
    exitCode: EXIT.generic,
    meaning: 'A name that is taken by the box, or by a package the workspace needs.',
  },
  flag_removed: {
    exitCode: EXIT.generic,
    meaning: 'A flag of an earlier version; the message says what took its place.',
  },
  write_failed: { exitCode: EXIT.generic, meaning: 'A file of a workspace cannot be written; nothing was kept.' },
  install_failed: { exitCode: EXIT.generic, meaning: 'The workspace is made, and the install of its packages failed.' },
  install_incomplete: {
    exitCode: EXIT.generic,
    meaning: 'npm has left out the native part of the bundler, as it does on Node below 20.19.',
  },
  provider_key_invalid: { exitCode: EXIT.generic, meaning: 'The key of the model provider cannot be one.' },
  model_invalid: { exitCode: EXIT.generic, meaning: 'The name of a model that --model gives cannot be one.' },
  unsupported_platform: { exitCode: EXIT.generic, meaning: 'Node is too old, or this is a native Windows shell.' },
  no_project: { exitCode: EXIT.noTarget, meaning: 'The folder is not a workspace.' },
  manifest_invalid: { exitCode: EXIT.generic, meaning: 'svc.json is not usable.' },
  journal_unavailable: { exitCode: EXIT.generic, meaning: 'The runs are in a SQLite file and no SQLite opens here.' },
  build_failed: {
    exitCode: EXIT.generic,
    meaning: 'An agent, svc.config.ts or config.schema.ts does not compile, or the folder of --out is in use.',
  },
  package_failed: {
    exitCode: EXIT.generic,
    meaning: 'The folder of --out-dir holds something else, or an image of --offline cannot be had.',
  },
  archive_invalid: {
    exitCode: EXIT.generic,
    meaning: 'The file of --base-archive is no docker-archive with the images that are needed.',
  },
  container_runtime_missing: {
    exitCode: EXIT.generic,
    meaning: '--offline finds neither docker nor podman at work.',
  },
  check_failed: { exitCode: EXIT.generic, meaning: 'The code of the workspace has problems.' },
  schema_invalid: { exitCode: EXIT.generic, meaning: 'src/schema.ts does not load, or no database can have it.' },
  schema_ambiguous: {
    exitCode: EXIT.generic,
    meaning: 'A change of src/schema.ts may mean two things or loses something; error.details.questions has the flags.',
  },
  schema_ahead: {
    exitCode: EXIT.generic,
    meaning: 'src/schema.ts has changes that no migration holds, so nothing is built.',
  },
  drizzle_mismatch: {
    exitCode: EXIT.generic,
    meaning: 'The project has a drizzle-orm of another series than svc works with.',
  },
  schema_unclear: { exitCode: EXIT.generic, meaning: 'A change of src/schema.ts that is not written by itself.' },
  migrations_invalid: { exitCode: EXIT.generic, meaning: '.svc/migrations is incomplete or cannot be read.' },
  contract_invalid: { exitCode: EXIT.generic, meaning: 'The workspace needs what the box does not offer.' },
  dev_not_running: {
    exitCode: EXIT.noTarget,
    meaning: 'No dev runtime answers on its address, or that of another workspace does.',
  },
  no_deployment: {
    exitCode: EXIT.noTarget,
    meaning: '--agent names no registered deployment, or nothing answers on --url.',
  },
  not_linked: {
    exitCode: EXIT.noTarget,
    meaning: 'The workspace is no agent of the control plane, or it knows none by the id of --agent.',
  },
  not_signed_in: {
    exitCode: EXIT.auth,
    meaning: 'There is no session at the control plane, or something other than a box answered 401.',
  },
  session_expired: { exitCode: EXIT.auth, meaning: 'The session at the control plane has ended.' },
  login_denied: { exitCode: EXIT.auth, meaning: 'The sign-in was denied where it was to be approved.' },
  login_expired: { exitCode: EXIT.auth, meaning: 'The code of a sign-in was not approved in time.' },
  control_plane_missing: { exitCode: EXIT.auth, meaning: '`svc login` finds no control plane to sign in to.' },
  credentials_invalid: { exitCode: EXIT.auth, meaning: 'The file that keeps the sessions cannot be used.' },
  control_plane_unavailable: { exitCode: EXIT.generic, meaning: 'The control plane does not answer.' },
  project_link_invalid: { exitCode: EXIT.generic, meaning: '.svc/project.json is not usable.' },
  agent_not_found: {
    exitCode: EXIT.notFound,
    meaning: 'The agent this workspace is linked to is no longer at the control plane.',
  },
  decision_needed: {
    exitCode: EXIT.generic,
    meaning: 'The agent of `svc chat` waits for a decision, and there is no one to ask.',
  },
  starts_refused: {
    exitCode: EXIT.generic,
    meaning: 'Some of many starts were refused; the lines before say which and why, and the others were made.',
  },
  id_ambiguous: {
    exitCode: EXIT.generic,
    meaning: 'What was typed of an id begins several; error.details.ids has them.',
  },
  confirm_required: {
    exitCode: EXIT.generic,
    meaning: 'What cannot be undone needs --yes where there is no way to ask for confirmation.',
  },
  forbidden: { exitCode: EXIT.generic, meaning: 'Something other than a box answered 403.' },
  not_found: { exitCode: EXIT.notFound, meaning: 'Something other than a box answered 404, or no name can be meant.' },
} as const satisfies Record<string, { exitCode: number; meaning: string }>;

export interface CliErrorOptions extends Partial<Remedy> {
  /** The box's name for the request that failed. */
  requestId?: string;
}

/**
 * A failure of a verb: what it leaves out is what its code says in the tables here, the exit code and the suggestion.
 * Whatever else is thrown is a bug and is reported as `generic`.
 */
export class CliError extends CommandError {
  override readonly name = 'CliError';
  readonly requestId: string | undefined;

  constructor(code: string, message: string, options: CliErrorOptions = {}) {
    const { suggestion = findSuggestion(code) ?? FALLBACK_SUGGESTION, details = {} } = options;
    const exitCode = options.exitCode ?? findOwn(code)?.exitCode ?? EXIT.generic;
    super(code, cutLongWords(message), { suggestion: cutLongWords(suggestion), details, exitCode });
    this.requestId = options.requestId;
  }
}

/**
 * Reads anything thrown as a CliError. An error that carries its own `code` and `exitCode` keeps both; the code of a
 * system error (`ENOENT`) is not one of ours, so that error becomes `generic`.
 */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (!(error instanceof Error)) return new CliError('generic', String(error), { suggestion: BUG_SUGGESTION });
  if (error.message.startsWith(NO_NATIVE_PART)) return incompleteInstall();
  const { code, exitCode, suggestion, details, requestId } = error as Partial<CliError>;
  if (typeof code !== 'string' || typeof exitCode !== 'number') {
    return new CliError('generic', error.message || error.name, { suggestion: BUG_SUGGESTION });
  }
  return new CliError(code, error.message, {
    exitCode,
    ...(suggestion ? { suggestion } : {}),
    ...(details ? { details } : {}),
    ...(requestId ? { requestId } : {}),
  });
}

/** A wrong flag, argument or verb: `generic`, exit 1. */
export function usageError(message: string, suggestion: string): CliError {
  return new CliError('generic', message, { suggestion });
}

/** Cuts words that are longer than any path or address: an argument of 100,000 letters. */
export function cutLongWords(text: string): string {
  return text.replaceAll(LONG_WORD, (word) => `${word.slice(0, WORD_START)}…`);
}

/** Where modules do not load because npm has left out a part of the bundler: what says so. Undefined: they fail for another reason. */
export function findIncomplete(root: string, messages: readonly string[]): CliError | undefined {
  const isMissing = messages.some((message) => message.startsWith(NO_NATIVE_PART));
  return isMissing && findLeftOut(root) !== undefined ? incompleteInstall(root) : undefined;
}

/** What to do about a code, where one sentence fits every case of it. */
export function findSuggestion(code: string): string | undefined {
  return SUGGESTIONS[code];
}

// --- internal ---

function findOwn(code: string): { exitCode: number } | undefined {
  return Object.hasOwn(CLI_CODES, code) ? CLI_CODES[code as keyof typeof CLI_CODES] : undefined;
}

/** How the bundler begins to say it. */
const NO_NATIVE_PART = 'Cannot find native binding';

function incompleteInstall(root = process.cwd()): CliError {
  const left = findLeftOut(root);
  const install = left === undefined ? 'install the packages again' : `run \`npm install --no-save ${left}\``;
  return new CliError(
    'install_incomplete',
    `The native part of the bundler is not installed: npm leaves it out on Node below ${WHOLE_INSTALL}.`,
    { suggestion: `In the workspace, ${install}; or use Node ${WHOLE_INSTALL} or later.` },
  );
}

/** Longer than any path or address that is of use. */
const LONG_WORD = /[^\s"'`]{301,}/g;
const WORD_START = 60;

const FALLBACK_SUGGESTION = 'Run the command again with --verbose to see the request.';
const BUG_SUGGESTION = 'Run the command again with --verbose to see where it failed.';

const SUGGESTIONS: Record<string, string | undefined> = {
  session_expired: 'Run `svc login`, then try again.',
  not_signed_in: 'Name the box with --url and its token in SVC_API_TOKEN.',
  not_linked: 'Check the id; the control plane lists the boxes of the organization.',
  confirm_required: 'Add --yes.',
  invalid_request: 'Run the verb with --help to see what it takes.',
  unauthorized: 'Send a token that the box accepts: set SVC_API_TOKEN.',
  rag_collection_not_found: 'Run `svc rag list` to see the collections of this box.',
  rag_document_not_found: 'Run `svc rag search <collection> <query>` to see which documents it finds.',
  query_failed: 'Run `svc db tables` to see the tables and their columns.',
  query_login_unavailable: 'Run the statements in "details" as an administrator of the database server.',
  forbidden: 'Ask an owner or admin of the organization for the role this needs.',
  not_found: 'Check the name or id; `svc workflows list` and `svc runs list` show what there is.',
  run_not_found: 'Run `svc runs list` to see the runs of this box.',
  approval_not_found: 'Run `svc hitl list` to see what is asked.',
  approval_closed: 'Run `svc hitl get <id>` to see its outcome.',
  already_decided: 'Run `svc hitl get <id>` to see who decided.',
  run_final: 'Run `svc runs get <id>` to see how it ended.',
  run_not_final: 'Cancel it first with `svc runs cancel <id>`, or wait for its end.',
  run_not_blocked: 'Run `svc why <id>` to see its state.',
  run_not_retryable: 'Run `svc why <id>` to see its state.',
  run_not_forkable: 'Run `svc runs steps <id>` to see what is recorded of it.',
  run_changed: 'Run `svc runs fork <id> --from <step>` again, which shows what has changed.',
  prompt_not_published_before: 'Run `svc prompts versions <id>` to see the versions.',
  trigger_not_found: 'Run `svc workflows queue <name>` to see the starts that wait.',
  delivery_not_found: 'Run `svc notify list` to see what was sent.',
  job_not_found: 'Run `svc jobs list` to see the timers of this box.',
  eval_suite_not_found: 'Run `svc eval list` to see the suites of this box.',
  eval_suite_not_runnable: 'Change the suite, then launch it again.',
  eval_run_not_found: 'Run `svc eval list` to see the last run of each suite.',
  eval_run_final: 'Run `svc eval get <id>` to see its result.',
  guardrail_not_found: 'Run `svc guardrails list` to see the rules of this box.',
  guardrail_exists: 'Run `svc guardrails list` to see the rules of this box.',
  guardrail_in_code: 'Change the file in the workspace, then deploy it.',
  too_many_guardrails: 'Run `svc guardrails delete <id>` for one that nothing needs.',
  prompt_not_found: 'Run `svc prompts list` to see the prompts of this box.',
  catalog_entry_not_found: 'Run `svc catalog list` to see what this box has.',
  prompt_version_not_found: 'Run `svc prompts versions <id>` to see the versions.',
  prompt_exists: 'Find its id with `svc prompts list`, then save a new version with `svc prompts update <id>`.',
  config_key_not_found: 'Run `svc config list` to see the keys.',
  config_value_invalid: 'Run `svc config get <key>` to see its type.',
  revision_conflict: 'Run `svc config get <key>` to see what it is by now.',
  secret_not_found: 'Run `svc secrets list` to see the names.',
  object_not_found: 'Run `svc storage ls` to see the objects of this box.',
  object_exists: 'Choose another key.',
  storage_missing: 'Set the variables in the environment of the box, and start it again.',
  storage_refused: 'The guide of storage says what each code of a backend means.',
  secret_exists: 'Replace its value with `svc secrets rotate <name>`.',
  key_not_found: 'Run `svc keys list` to see the keys.',
  session_not_found: 'Run `svc sessions list` to see the sessions of this box.',
  activity_not_found: 'Run `svc activity list` to see the changes.',
  workflow_not_found: 'Run `svc workflows list` to see the names.',
  workflow_input_invalid: 'Run `svc workflows schema <name>` to see what the workflow accepts.',
  agent_guardrail_blocked: 'Ask in other words, or ask an owner or admin to change the guardrail.',
  workflow_guardrail_blocked: 'Change the input, or ask an owner or admin to change the guardrail.',
  workflow_compile_failed: 'Fix the error `svc dev` prints for this workflow; it reloads when the file is saved.',
  workflow_busy: 'See which run is not over with `svc runs list`, and start again when it is.',
  workflow_runtime_not_armed: 'Run `svc provider set <address>` to set a model provider.',
  invalid_cursor: 'Leave --cursor out to start from the first page.',
  model_provider_failed: 'Call the provider once with `svc provider test`, and once with --model <model>.',
  model_provider_missing: 'Run `svc provider set <address>` to set a model provider.',
  provider_url_invalid: 'Use the address of a chat-completions endpoint, such as https://provider.example/v1.',
  store_unavailable: 'Look at GET /health of the box; it names the store and why.',
  store_full: 'Free some space on the disk of the store; runs go on by themselves then.',
  shutting_down: 'Start the box again, then repeat the command.',
  internal: 'Look for the request id in the log of the box.',
};
