export interface TypingOptions {
  /** Nothing of what is typed is shown. */
  isHidden: boolean;
  signal: AbortSignal;
}

/** One line a person types on the terminal of this process. Undefined: the person left instead. */
export async function readTyped(question: string, { isHidden, signal }: TypingOptions): Promise<string | undefined> {
  const typed = await (isHidden ? typeHidden : typeShown)(question, signal);
  if (isHidden || typed === undefined) process.stderr.write('\n');
  return typed;
}

// --- internal ---

async function typeHidden(question: string, signal: AbortSignal): Promise<string | undefined> {
  const { readHidden } = await import('./hidden-line.ts');
  const isDumb = process.env.TERM === 'dumb';
  return readHidden(process.stdin, {
    signal,
    ask: () => void process.stderr.write(question),
    mark: (codes) => void (isDumb || process.stderr.write(codes)),
  });
}

async function typeShown(question: string, signal: AbortSignal): Promise<string | undefined> {
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true, prompt: question });
  return new Promise((resolve) => {
    const leave = () => lines.close();
    signal.addEventListener('abort', leave, { once: true });
    let typed: string | undefined;
    lines.once('line', (line) => {
      typed = line;
      lines.close();
    });
    // A terminal in raw mode hands Ctrl-C to readline alone.
    lines.once('SIGINT', leave);
    lines.once('close', () => {
      signal.removeEventListener('abort', leave);
      resolve(typed);
    });
    // Who sees the question may type: from here on Ctrl-C is a key, and an edit of the line leaves the question in place.
    lines.prompt();
  });
}
