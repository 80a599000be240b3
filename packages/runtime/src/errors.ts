/**
 * Every code the box answers with, and its HTTP status. A shipped code never changes; a message may.
 */
export const ERROR_STATUS = {
  invalid_request: 400,
  invalid_json: 400,
  workflow_input_invalid: 400,
  config_value_invalid: 400,
  invalid_cursor: 400,
  provider_url_invalid: 400,
  rag_collection_invalid: 400,
  connection_invalid: 400,
  browser_url_invalid: 400,
  trigger_invalid: 400,
  sign_in_invalid: 400,
  sign_in_refused: 400,
  thread_unsupported_request: 400,
  unauthorized: 401,
  invalid_signature: 401,
  forbidden: 403,
  copilot_disabled: 403,
  address_not_allowed: 403,
  decision_not_yours: 403,
  not_an_approver: 403,
  users_not_granted: 403,
  host_not_allowed: 403,
  // What a client takes for missing rights, or another transport, it looks for and remembers; this it asks again.
  mcp_disabled: 503,
  not_found: 404,
  run_not_found: 404,
  workflow_not_found: 404,
  agent_not_found: 404,
  method_not_allowed: 405,
  // Sent in a stream that has begun.
  client_too_slow: 408,
  activity_not_found: 404,
  approval_not_found: 404,
  hook_not_found: 404,
  delivery_not_found: 404,
  job_not_found: 404,
  key_not_found: 404,
  eval_case_not_found: 404,
  eval_run_not_found: 404,
  eval_suite_not_found: 404,
  guardrail_not_found: 404,
  prompt_not_found: 404,
  prompt_version_not_found: 404,
  config_key_not_found: 404,
  session_not_found: 404,
  secret_not_found: 404,
  object_not_found: 404,
  rag_collection_not_found: 404,
  rag_document_not_found: 404,
  connection_not_found: 404,
  table_not_found: 404,
  catalog_entry_not_found: 404,
  trigger_not_found: 404,
  already_decided: 409,
  approval_pending: 409,
  turn_in_progress: 409,
  turn_blocked: 409,
  approval_closed: 409,
  arguments_changed: 409,
  confirmation_required: 409,
  confirmation_declined: 409,
  confirmation_unavailable: 409,
  call_interrupted: 409,
  object_exists: 409,
  hook_closed: 409,
  idempotency_conflict: 409,
  key_not_active: 409,
  run_final: 409,
  run_not_final: 409,
  run_not_blocked: 409,
  run_not_replayable: 409,
  run_not_retryable: 409,
  run_not_forkable: 409,
  run_changed: 409,
  job_declared: 409,
  eval_run_final: 409,
  eval_run_not_final: 409,
  eval_suite_exists: 409,
  eval_suite_not_runnable: 409,
  guardrail_exists: 409,
  guardrail_in_code: 409,
  too_many_guardrails: 409,
  prompt_exists: 409,
  prompt_not_published_before: 409,
  secret_exists: 409,
  connection_exists: 409,
  rag_collection_exists: 409,
  too_many_rag_collections: 409,
  connection_not_ready: 409,
  too_many_connections: 409,
  too_many_triggers: 409,
  workflow_busy: 409,
  workflow_id_taken: 409,
  workflow_not_chat: 409,
  run_cancelled: 410,
  revision_conflict: 412,
  payload_too_large: 413,
  prompt_too_large: 413,
  run_too_large: 413,
  unsupported_media_type: 415,
  file_type_unsupported: 415,
  uri_too_long: 414,
  workflow_guardrail_blocked: 422,
  agent_guardrail_blocked: 422,
  file_unreadable: 422,
  query_failed: 422,
  query_too_large: 422,
  budget_exceeded: 429,
  hook_queue_full: 429,
  trigger_queue_full: 429,
  rate_limited: 429,
  too_many_streams: 429,
  too_many_queries: 429,
  too_many_files: 429,
  workflow_rate_limited: 429,
  internal: 500,
  agent_output_invalid: 502,
  model_output_invalid: 502,
  model_provider_failed: 502,
  result_too_large: 502,
  models_unavailable: 502,
  storage_refused: 502,
  connection_failed: 502,
  browser_unreachable: 502,
  browser_session_ended: 502,
  agent_load_failed: 503,
  model_not_selected: 503,
  model_provider_missing: 503,
  storage_missing: 503,
  browser_not_configured: 503,
  browser_busy: 503,
  vector_unavailable: 503,
  query_login_unavailable: 503,
  agent_runtime_not_armed: 503,
  workflow_compile_failed: 503,
  workflow_runtime_not_armed: 503,
  store_unavailable: 503,
  store_full: 503,
  overloaded: 503,
  identity_keys_unavailable: 503,
  shutting_down: 503,
  model_timeout: 504,
  webhook_unanswered: 504,
  query_timeout: 504,
  // Found at boot, before anything can be asked: printed, never answered.
  already_running: 503,
  port_busy: 503,
  environment_invalid: 503,
  bundle_invalid: 503,
  database_newer: 503,
  migration_changed: 503,
  migration_failed: 503,
  secret_key_missing: 503,
  secret_key_invalid: 503,
  secret_key_wrong: 503,
  secret_unreadable: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/**
 * The one error of the box. Code that finds a problem throws it; code that speaks a protocol turns it into an answer.
 * Whatever else is thrown is a bug: the caller gets a bare 500, the log gets the whole thing.
 */
export class BoxError extends Error {
  override readonly name = 'BoxError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** What was thrown, where it is one of the box's or wraps one, as Drizzle wraps what its query is refused with. */
export function findBoxError(thrown: unknown): BoxError | undefined {
  const error = thrown instanceof BoxError ? thrown : (thrown as { cause?: unknown } | null | undefined)?.cause;
  return error instanceof BoxError ? error : undefined;
}

/** Marks the error of what may have happened all the same: whoever was to do it has not answered. */
export function asOutcomeUnknown(error: BoxError): BoxError {
  return Object.assign(error, { isOutcomeUnknown: true as const });
}

/** Whether an error is, or wraps, what `asOutcomeUnknown` has marked. */
export function isOutcomeUnknown(thrown: unknown): boolean {
  return (findBoxError(thrown) as { isOutcomeUnknown?: true } | undefined)?.isOutcomeUnknown === true;
}

export function idempotencyConflict(key = ''): BoxError {
  return new BoxError('idempotency_conflict', `The Idempotency-Key "${key}" has been used with another body.`);
}

export function invalidCursor(cursor: string): BoxError {
  return new BoxError('invalid_cursor', `"${cursor}" is not a cursor. Pass the "nextCursor" of the page before.`);
}

/** `wanted`: what would listen there, as a clause behind the first. */
export function portBusy(port: number, { wanted = '', cause }: { wanted?: string; cause: unknown }): BoxError {
  return new BoxError('port_busy', `Port ${port} is in use${wanted}.`, { details: { port }, cause });
}
