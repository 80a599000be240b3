/** Writes text to a stream as it comes. */
export interface TextPump {
  push(text: string): void;
  hasWritten(): boolean;
  /** Resolves once all is written; rejects where the stream takes no more. */
  end(): Promise<void>;
  /** Leaves the stream open, for whoever writes next. */
  release(): void;
}

/** What comes while another write is under way is written as one piece. */
export function createTextPump(writable: WritableStream<string>): TextPump {
  const writer = writable.getWriter();
  let waiting = '';
  let written = false;
  let writing: Promise<void> | undefined;
  const flush = async (): Promise<void> => {
    while (waiting !== '') {
      const text = waiting;
      waiting = '';
      await writer.write(text);
    }
    writing = undefined;
  };
  return {
    push(text) {
      if (text === '') return;
      written = true;
      waiting += text;
      writing ??= flush();
      // Reported by `end`.
      writing.catch(() => {});
    },
    hasWritten: () => written,
    end: async () => writing,
    release: () => writer.releaseLock(),
  };
}
