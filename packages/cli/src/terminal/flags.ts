/** The flags every verb has. */
export interface Flags {
  json: boolean;
  verbose: boolean;
  color: boolean;
  help: boolean;
}

/** Takes the flags every verb has out of the command line, wherever they stand. What follows `--` is left alone. */
export function readFlags(argv: readonly string[]): { flags: Flags; rest: string[] } {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  const has = (...names: string[]) => own.some((arg) => names.includes(arg));
  return {
    flags: { json: has('--json'), verbose: has('--verbose'), color: !has('--no-color'), help: has('--help', '-h') },
    rest: [...own.filter((arg) => !GLOBAL.includes(arg)), ...(end === -1 ? [] : argv.slice(end))],
  };
}

// --- internal ---

const GLOBAL = ['--json', '--verbose', '--no-color', '--help', '-h'];
