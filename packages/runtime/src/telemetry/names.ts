/** The names of what is exported: the conventions of OpenTelemetry, and ours below `svc.`. */
export const RUN = {
  id: 'svc.run.id',
  kind: 'svc.run.kind',
  name: 'svc.run.name',
  trigger: 'svc.run.trigger',
  status: 'svc.run.status',
  parent: 'svc.run.parent_id',
  retryOf: 'svc.run.retry_of',
  reason: 'svc.run.reason',
} as const;

export const NOTIFY = { receiver: 'svc.notify.receiver', outcome: 'svc.notify.outcome' } as const;

export const STEP = {
  id: 'svc.step.id',
  kind: 'svc.step.kind',
  name: 'svc.step.name',
  status: 'svc.step.status',
  attempt: 'svc.step.attempt',
} as const;

/** Of a stall of the event loop. */
export const STALL = { cause: 'svc.stall.cause' } as const;

export const GEN_AI = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agent: 'gen_ai.agent.name',
  conversation: 'gen_ai.conversation.id',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  tokenType: 'gen_ai.token.type',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
} as const;

export const HTTP = {
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  scheme: 'url.scheme',
  path: 'url.path',
  requestId: 'svc.request.id',
} as const;

export const ERROR_TYPE = 'error.type';
export const SERVER_ADDRESS = 'server.address';
export const SERVER_PORT = 'server.port';
