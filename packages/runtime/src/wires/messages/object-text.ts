/**
 * The JSON text of one object, let through as it comes, so that a reader of the pieces has a whole object at the end
 * whatever the model wrote: what cannot be part of one is left out, and what is open is closed.
 */
export interface ObjectText {
  /** What of the text may be sent on. */
  push(text: string): string;
  /** What makes the sent text whole. */
  end(): string;
}

/**
 * What is let through is always the start of an object that lacks nothing but its closing quote and brackets. So a
 * member is held until its value begins, and a number, a word or an escape until it is whole.
 */
export function createObjectText(): ObjectText {
  const cursor: Cursor = {
    state: 'start',
    begun: false,
    closers: [],
    isFirst: true,
    inString: false,
    held: '',
    token: '',
  };
  return {
    push(text) {
      let passed = '';
      for (const char of text) passed += STEPS[cursor.state](cursor, char);
      return passed;
    },
    end() {
      const { begun, inString, closers } = cursor;
      cursor.state = 'over';
      return begun ? (inString ? '"' : '') + closers.splice(0).reverse().join('') : '{}';
    },
  };
}

// --- internal ---

type State = 'start' | 'key' | 'inKey' | 'colon' | 'value' | 'scalar' | 'string' | 'escape' | 'next' | 'over';

interface Cursor {
  state: State;
  begun: boolean;
  /** What closes the objects and arrays that are open, the outermost first. */
  closers: string[];
  /** Nothing stands yet in the object or array that was opened last. */
  isFirst: boolean;
  /** What was let through ends inside a string. */
  inString: boolean;
  held: string;
  token: string;
}

const STEPS: Record<State, (cursor: Cursor, char: string) => string> = {
  start(cursor, char) {
    if (isBlank(char)) return '';
    if (char !== '{') return giveUp(cursor);
    cursor.begun = true;
    return open(cursor, char);
  },
  key(cursor, char) {
    if (isBlank(char)) return hold(cursor, char);
    if (char === '}' && cursor.isFirst) return close(cursor, char);
    return char === '"' ? collect(cursor, 'inKey', char) : giveUp(cursor);
  },
  inKey(cursor, char) {
    cursor.token += char;
    if (char !== '"' || !isJson(cursor.token)) return '';
    cursor.state = 'colon';
    return hold(cursor, cursor.token);
  },
  colon(cursor, char) {
    if (isBlank(char)) return hold(cursor, char);
    if (char !== ':') return giveUp(cursor);
    cursor.isFirst = false;
    cursor.state = 'value';
    return hold(cursor, char);
  },
  value(cursor, char) {
    if (isBlank(char)) return hold(cursor, char);
    if (char === ']' && cursor.isFirst) return close(cursor, char);
    if (char === '{' || char === '[') return open(cursor, char);
    if (char !== '"') return /[-\dtfn]/.test(char) ? collect(cursor, 'scalar', char) : giveUp(cursor);
    cursor.inString = true;
    cursor.state = 'string';
    return release(cursor, char);
  },
  scalar(cursor, char) {
    if (/[\w.+-]/.test(char)) return collect(cursor, 'scalar', cursor.token + char);
    if (!isJson(cursor.token)) return giveUp(cursor);
    cursor.state = 'next';
    return release(cursor, cursor.token) + STEPS.next(cursor, char);
  },
  string(cursor, char) {
    if (char === '\\') return collect(cursor, 'escape', char);
    if (char < ' ') return giveUp(cursor);
    if (char === '"') {
      cursor.inString = false;
      cursor.state = 'next';
    }
    return char;
  },
  escape(cursor, char) {
    const token = cursor.token + char;
    if (!isJson(`"${token}"`))
      return /^\\u[\da-f]{0,3}$/i.test(token) ? collect(cursor, 'escape', token) : giveUp(cursor);
    cursor.state = 'string';
    return token;
  },
  next(cursor, char) {
    if (isBlank(char)) return hold(cursor, char);
    if (char !== ',') return close(cursor, char);
    cursor.isFirst = false;
    cursor.state = cursor.closers.at(-1) === '}' ? 'key' : 'value';
    return hold(cursor, char);
  },
  over: () => '',
};

function open(cursor: Cursor, char: '{' | '['): string {
  cursor.closers.push(char === '{' ? '}' : ']');
  cursor.isFirst = true;
  cursor.state = char === '{' ? 'key' : 'value';
  return release(cursor, char);
}

function close(cursor: Cursor, char: string): string {
  if (cursor.closers.at(-1) !== char) return giveUp(cursor);
  cursor.closers.pop();
  cursor.state = cursor.closers.length > 0 ? 'next' : 'over';
  return release(cursor, char);
}

function collect(cursor: Cursor, state: State, token: string): string {
  cursor.state = state;
  cursor.token = token;
  return '';
}

function hold(cursor: Cursor, text: string): string {
  cursor.held += text;
  return '';
}

function release(cursor: Cursor, text: string): string {
  const passed = cursor.held + text;
  cursor.held = '';
  return passed;
}

function giveUp(cursor: Cursor): string {
  cursor.state = 'over';
  return '';
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
