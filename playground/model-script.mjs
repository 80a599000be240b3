// @ts-check
/**
 * What the scripted model answers: pure functions of a chat-completions request.
 * The last user message is the script; the rounds already played are read from the messages after it.
 *
 * @typedef {{ name: string, args: string }} Call  `args` is sent as written, valid JSON or not
 * @typedef {{ tools: Call[] } | { fail: Failure } | { hang: true }} Move
 * @typedef {{ status: number, once: boolean }} Failure
 * @typedef {{ role: string, content?: unknown, tool_calls?: { id: string }[], tool_call_id?: string }} Message
 * @typedef {{ model?: string, messages: Message[], tools?: { function?: { name?: string } }[], tool_choice?: unknown,
 *   stream?: boolean, stream_options?: { include_usage?: boolean } }} ChatRequest
 * @typedef {{ model?: string, input?: unknown, dimensions?: number }} EmbedRequest
 * @typedef {{ reasoning: string, text: string[], calls: Call[], finish: string, delay: number, cut: boolean,
 *   fail?: Failure, hang?: true }} Reply  `text` holds one string per streamed chunk
 */

/**
 * The reply to one request.
 * @param {ChatRequest} request
 * @param {{ skipFailures?: boolean }} [options] `skipFailures` passes over an `error:… once` that has already failed
 * @returns {Reply}
 */
export function replyTo(request, options = {}) {
  const { messages } = request;
  const turn = messages.findLastIndex((message) => message.role === 'user');
  const asked = textOf(messages[turn]?.content);
  const script = parseScript(asked);
  const round = messages.slice(turn + 1).filter((message) => message.tool_calls?.length).length;

  /** @type {Reply} */
  const reply = { reasoning: '', text: [], calls: [], finish: 'stop', delay: script.delay, cut: script.cut };
  if (round === 0) reply.reasoning = script.reasoning;

  const move = nextMove(script.moves, round, options.skipFailures === true);
  if (move && 'fail' in move) return { ...reply, fail: move.fail };
  if (move && 'hang' in move) return { ...reply, hang: true };
  const refusal = move && refuse(move.tools, offeredTools(request));
  if (move && !refusal) return { ...reply, calls: move.tools, finish: 'tool_calls' };

  const text = refusal || script.text || (script.chunks ? '' : cannedAnswer(asked, messages, round));
  return { ...reply, text: toChunks(text, script.chunks), finish: script.finish };
}

/**
 * What real providers refuse, so that a client cannot get it wrong here and find out there.
 * @param {ChatRequest} body
 */
export function checkMessages(body) {
  if (!Array.isArray(body?.messages) || body.messages.length === 0)
    throw new Error("'messages' must be a list with at least one message.");
  const open = new Set();
  for (const message of body.messages) {
    if (message.role === 'tool') {
      if (open.delete(message.tool_call_id)) continue;
      throw new Error(`The tool message for "${message.tool_call_id}" answers no tool call before it.`);
    }
    if (open.size) break;
    for (const call of message.tool_calls ?? []) open.add(call.id);
  }
  if (open.size)
    throw new Error(
      `An assistant message with tool_calls must be followed by their results. Missing: ${[...open].join(', ')}.`,
    );
}

/**
 * A token is four characters. What an earlier request of the same conversation already sent counts as cached.
 * @param {ChatRequest} body
 * @param {Reply} reply
 */
export function usageOf({ messages, tools }, reply) {
  const lastAnswer = messages.findLastIndex((message) => message.role === 'assistant');
  const prompt = tokensIn(messages) + (tools ? tokensIn(tools) : 0);
  const cached = lastAnswer < 1 ? 0 : tokensIn(messages.slice(0, lastAnswer)) + (tools ? tokensIn(tools) : 0);
  const reasoning = reply.reasoning ? tokensIn(reply.reasoning) : 0;
  const completion = reasoning + tokensIn(reply.text.join('')) + (reply.calls.length ? tokensIn(reply.calls) : 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

/**
 * The vector of a text: texts that share words are near to each other.
 * @param {string} text
 * @param {number} [dimensions]
 */
export function vectorOf(text, dimensions = 32) {
  const vector = Array.from({ length: dimensions }, () => 0);
  for (const word of text.toLowerCase().split(/\s+/)) {
    const place = [...word].reduce((sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003, 7) % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/**
 * @param {EmbedRequest} request
 * @returns {string[]}
 */
export function textsOf({ input }) {
  const texts = typeof input === 'string' ? [input] : input;
  if (!Array.isArray(texts) || texts.length === 0) throw new Error("'input' must be a text or a list of texts.");
  const index = texts.findIndex((text) => typeof text !== 'string' || text === '');
  if (index >= 0) throw new Error(`'input[${index}]' must be a text that is not empty.`);
  return texts;
}

// --- internal ---

/**
 * The text of a message: a string, or the text parts of a list.
 * @param {unknown} content
 * @returns {string}
 */
function textOf(content) {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}

function emptyScript() {
  return {
    moves: /** @type {Move[]} */ ([]),
    text: '',
    reasoning: '',
    chunks: 0,
    delay: 0,
    finish: 'stop',
    cut: false,
  };
}

/**
 * What each directive adds to the script. Tool rounds, failures and hangs are moves: they happen in the order written.
 * @type {Record<string, (script: ReturnType<typeof emptyScript>, value: string) => unknown>}
 */
const DIRECTIVES = {
  say: (script, value) => (script.text += (script.text && '\n') + value),
  reason: (script, value) => (script.reasoning += (script.reasoning && '\n') + value),
  tool: ({ moves }, value) => moves.push({ tools: [parseCall(value)] }),
  tools: ({ moves }, value) =>
    moves.push({ tools: [...splitOutsideJson(value, '|')].map(({ piece }) => parseCall(piece)) }),
  error: ({ moves }, value) => moves.push({ fail: { status: toNumber(value, 500), once: value.endsWith(' once') } }),
  hang: ({ moves }) => moves.push({ hang: true }),
  chunks: (script, value) => (script.chunks = toNumber(value, 0)),
  delay: (script, value) => (script.delay = toNumber(value, 0)),
  finish: (script, value) => (script.finish = value),
  cut: (script) => (script.cut = true),
};

const DIRECTIVE = new RegExp(`^\\s*(${Object.keys(DIRECTIVES).join('|')})\\s*(?::|$)`);

/** @param {string} message */
function parseScript(message) {
  const script = emptyScript();
  /** @type {'text' | 'reasoning' | undefined} */
  let open;
  for (const { piece, separator } of splitOutsideJson(message, ';\n')) {
    const name = DIRECTIVE.exec(piece)?.[1];
    if (name) {
      DIRECTIVES[name]?.(script, piece.slice(piece.indexOf(':') + 1).trim());
      open = name === 'say' ? 'text' : name === 'reason' ? 'reasoning' : undefined;
    } else if (open) {
      // A piece that is no directive belongs to the text it interrupts: `say:one; two` says "one; two".
      script[open] += separator + piece;
    }
  }
  return script;
}

/**
 * @param {string} text
 * @param {number} otherwise
 */
function toNumber(text, otherwise) {
  const number = Number.parseInt(text, 10);
  return Number.isNaN(number) ? otherwise : number;
}

/**
 * Pieces of `text` between separators that stand outside braces and brackets.
 * @param {string} text
 * @param {string} separators
 * @returns {Generator<{ piece: string, separator: string }>} `separator` is the one before the piece
 */
function* splitOutsideJson(text, separators) {
  let depth = 0;
  let quoted = false;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (quoted && char === '\\') i++;
    else if (depth > 0 && char === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth = Math.max(0, depth - 1);
    else if (depth === 0 && separators.includes(char)) {
      yield { piece: text.slice(start, i), separator: text.charAt(start - 1) };
      start = i + 1;
    }
  }
  yield { piece: text.slice(start), separator: text.charAt(start - 1) };
}

/**
 * @param {string} text `name` or `name {json}`
 * @returns {Call}
 */
function parseCall(text) {
  const [, name = '', args = ''] = /^\s*([^\s{]+)\s*([^]*)$/.exec(text) ?? [];
  return { name, args: args.trim() || '{}' };
}

/**
 * The move that answers after `round` rounds of tool calls. A failure or a hang is no round: it happens again and again.
 * @param {Move[]} moves
 * @param {number} round
 * @param {boolean} skipFailures
 * @returns {Move | undefined}
 */
function nextMove(moves, round, skipFailures) {
  let played = 0;
  for (const move of moves) {
    if ('fail' in move && move.fail.once && skipFailures) continue;
    if (played === round) return move;
    if ('tools' in move) played++;
  }
  return undefined;
}

/**
 * @param {ChatRequest} request
 * @returns {string[]}
 */
function offeredTools(request) {
  if (request.tool_choice === 'none') return [];
  return (request.tools ?? []).map((tool) => tool.function?.name ?? '').filter(Boolean);
}

/**
 * @param {Call[]} calls
 * @param {string[]} offered
 * @returns {string | undefined}
 */
function refuse(calls, offered) {
  const missing = calls.find((call) => !offered.includes(call.name));
  if (!missing) return undefined;
  const choice = offered.length ? `This request offers: ${offered.join(', ')}.` : 'This request offers no tools.';
  return `I cannot call the tool "${missing.name}". ${choice}`;
}

/**
 * @param {string} asked
 * @param {Message[]} messages
 * @param {number} round
 */
function cannedAnswer(asked, messages, round) {
  const result = messages.findLast((message) => message.role === 'tool');
  if (round > 0 && result) return `The tool answered: ${textOf(result.content)}`;
  return (
    `You said: "${asked.trim()}". I am the scripted model of the playground, so I only say what I am told: ` +
    'write say:hello to hear a word, or tool:name {"argument": 1} to see a tool run.'
  );
}

/**
 * Words, or exactly `count` chunks: a text too short for that is repeated, no text at all becomes numbers.
 * @param {string} text
 * @param {number} count
 * @returns {string[]}
 */
function toChunks(text, count) {
  if (!count) return text.match(/\s*\S+\s*/g) ?? [];
  if (!text) return Array.from({ length: count }, (_, i) => `${i + 1} `);
  const long = text.length < count ? `${text} `.repeat(Math.ceil(count / text.length)) : text;
  return Array.from({ length: count }, (_, i) =>
    long.slice(Math.floor((i * long.length) / count), Math.floor(((i + 1) * long.length) / count)),
  );
}

/** @param {unknown} value */
function tokensIn(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return Math.ceil(text.length / 4);
}
