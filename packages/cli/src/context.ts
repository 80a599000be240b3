/** What a verb is handed besides its arguments. */
export interface Context {
  cwd: string;
  env: Record<string, string | undefined>;
  /** Aborts when the person presses Ctrl-C. */
  signal: AbortSignal;
  json: boolean;
  verbose: boolean;
  /** One line of talk on stderr, before something that takes long. Not with --json. */
  say(line: string): void;
  /** One JSON line on stderr while the command works, with --json alone. */
  note(record: object): void;
  /** One line on stderr, shown with --verbose alone. */
  trace(line: string): void;
  /** What is done from here on: a spinner on a terminal, else one plain line. Ends with the command. Not with --json. */
  progress(line: string): void;
  /** False: there is no one to ask, because an end is no terminal or --json was given. */
  mayAsk: boolean;
  /** One line a person types. Throws a CliError when the person leaves instead. */
  ask(question: string, options?: { isHidden?: boolean }): Promise<string>;
  /** All that a pipe brings; undefined where stdin is a terminal. */
  readStdin(): Promise<string | undefined>;
  /** The same piece by piece, as it is. */
  openStdin(): AsyncIterable<Uint8Array> | undefined;
}
