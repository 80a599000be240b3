import { yieldOnce } from '../../yielder.ts';

/** What a text says that wants to instruct a model it was only shown to: a word for it. Undefined: nothing. */
export async function findInjection(text: string): Promise<string | undefined> {
  for (let from = 0; from < text.length; from += PIECE - OVERLAP) {
    if (from > 0) await yieldOnce();
    const piece = normalize(text.slice(from, from + PIECE));
    for (const [word, pattern] of SIGNS) if (pattern.test(piece)) return word;
    if (from + PIECE >= text.length) break;
  }
  return undefined;
}

// --- internal ---

const PIECE = 32_768;
const OVERLAP = 512;

/** Without what hides words from a reader of patterns: letters of other widths, characters of no width, line ends. */
function normalize(text: string): string {
  return text
    .normalize('NFKC')
    .replace(HIDDEN, '')
    .replace(/[\s*_`]+/g, ' ')
    .toLowerCase();
}

const HIDDEN = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/g;

const BEFORE =
  '(?:(?:all|any|the|of|your|my|these|those) ){0,3}(?:previous|prior|above|earlier|preceding|former|existing)';
const ORDERS = '(?:instruction|prompt|rule|direction|guideline|order|command|message|context)';

/** Each begins with a word and goes on for so many characters at most: a text is read once for each. */
const SIGNS: readonly [word: string, pattern: RegExp][] = [
  ['override', new RegExp(`\\b(?:ignore|disregard|forget|override|bypass|skip) ${BEFORE} .{0,24}?${ORDERS}`)],
  [
    'override',
    /\b(?:ignore|disregard|forget) (?:everything|all|anything|what)(?: of| that)? (?:above|before|you (?:were|have been)|i said)/,
  ],
  [
    'override',
    /\b(?:ignoriere|vergiss|missachte) (?:alle |die |deine |meine )*(?:vorherigen|bisherigen|obigen|früheren) .{0,16}?(?:anweisung|regel|befehl)/,
  ],
  [
    'override',
    /\b(?:ignore[zs]?|oubliez?) (?:toutes? )?(?:les|tes|vos) (?:instructions?|consignes?|règles?) (?:précédente|antérieure|ci-dessus)/,
  ],
  ['override', /\b(?:ignora|olvida) (?:todas )?(?:las|tus) (?:instrucciones|reglas|órdenes) (?:anteriores|previas)/],
  [
    'new instructions',
    /\b(?:new|updated|real|actual|revised) (?:system )?(?:instructions?|prompt|task) ?(?::|for (?:you|the (?:ai|assistant|model)))/,
  ],
  [
    'role',
    /\byou (?:are|will be) (?:now|from now on|no longer) .{0,40}?(?:\bdan\b|jailbr|unrestricted|developer mode|without (?:any )?(?:rules|limits|restrictions)|an? (?:ai|assistant|model|bot))/,
  ],
  ['role', /\b(?:enter|enable|activate|switch to) (?:developer|debug|god|dan|jailbreak|admin|sudo) mode/],
  ['role', /\bpretend (?:that )?(?:you|there) (?:are|have|is) (?:no|not bound|free|without)/],
  [
    'prompt leak',
    /\b(?:reveal|print|show|repeat|output|tell me|leak|display|send|quote) .{0,32}?(?:system prompt|your (?:initial |original |hidden |secret )?instructions|everything above)/,
  ],
  [
    'secrecy',
    /\b(?:do not|don't|never) (?:tell|inform|mention|reveal|show|alert|notify) .{0,24}?(?:the user|to the user|the human|anyone)/,
  ],
  [
    'exfiltration',
    /\b(?:send|post|upload|forward|exfiltrate|transmit|append|email) .{0,60}?(?:password|api key|api token|credential|secret|conversation|chat history|private key|environment variable).{0,60}?(?:\bto\b|https?:|@)/,
  ],
  ['exfiltration', /!\[[^\]]{0,80}\]\(https?:\/\/[^)\s]{0,200}[?&][^)\s=]{0,40}=(?:\{|<|\$|%7b)/],
  [
    'chat markup',
    /<\|(?:im start|im end|system|assistant|user|endoftext)\|>|\[\/?inst\]|<<\/?sys>>|<\/?(?:system|assistant)(?:-?(?:prompt|message|instructions?))?>/,
  ],
  ['chat markup', /(?:^|\s)#{2,4} ?(?:system|instructions?|assistant)(?: prompt| message)? ?:/],
  [
    'to the model',
    /\b(?:attention|important|note|message|instruction)s? (?:to|for) (?:the |any |all )?(?:ai|llm|assistant|language model|chatbot|agent)s?\b/,
  ],
  ['to the model', /\bif you are an? (?:ai|llm|assistant|language model|agent)\b/],
  // Letters of a plane that no one sees.
  ['hidden text', /[\u{e0020}-\u{e007e}]{4}/u],
];
