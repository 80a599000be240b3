import { decide } from '../../control-plane/test/_oauth.ts';
import type { SignedInPerson } from '../../control-plane/test/_people.ts';
import type { CliResult } from '../src/main.ts';
import { runCli } from './_run.ts';

/** `svc login`, and what a person does on the page as soon as the command line shows its code. */
export async function logIn(
  plane: { url: string },
  person: SignedInPerson,
  env: Record<string, string>,
  decision = 'approve',
): Promise<CliResult> {
  let decided: Promise<unknown> | undefined;
  const result = await runCli(['login', '--json'], {
    env,
    onStderr(text) {
      const [, code] = /"userCode":"([^"]+)"/.exec(text) ?? [];
      if (code) decided = decide(plane, person, code, decision);
    },
  });
  await decided;
  return result;
}
