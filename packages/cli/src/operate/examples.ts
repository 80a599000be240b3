import type { Member } from './members.ts';

export interface ExampleParts {
  positionals: readonly string[];
  required: readonly Member[];
  /** It needs --yes where nobody can be asked. */
  asks: boolean;
}

/** Two commands: one for a person, one for a program. */
export function makeExamples(path: string, { positionals, required, asks }: ExampleParts): readonly [string, string] {
  const [group = ''] = path.split(' ');
  const words = positionals.map((name) => SAMPLES[group] ?? `<${name}>`);
  const flags = required.map(({ flag }) => `--${flag} <${flag}>`);
  const command = ['svc', path, ...words, ...flags].join(' ');
  return [command, `${command}${asks ? ' --yes' : ''} --json`];
}

// --- internal ---

const UUID = '0192f3b4-0000-7000-8000-000000000000';

/** What the things of a room are called by. */
const SAMPLES: Record<string, string | undefined> = {
  runs: UUID,
  sessions: UUID,
  prompts: UUID,
  keys: 'key_4m2n8p',
  hitl: UUID,
  jobs: 'report:0',
  config: 'greeting',
  secrets: 'SMTP_PASSWORD',
  activity: UUID,
};
