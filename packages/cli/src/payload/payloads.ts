import { describeDocument } from './document.ts';
import type { Group } from '../group.ts';
import { GROUP_HELP, listVerbs, VERB_HELP } from '../help.ts';
import type { Schema } from './schema.ts';
import { VERSION } from '../main.ts';
import { FAILURE } from '../terminal/output.ts';
import { union } from './payload.ts';

/**
 * What `--json` prints, by command: the JSON Schema of each document, or of each line of a stream. `<command> (stderr)`
 * is what it writes there that is JSON, each line.
 */
export async function listPayloads(root: Group): Promise<Record<string, Schema>> {
  const verbs = (await listVerbs(root)).map(({ command, payload, stderr }): [string, Schema][] => [
    [command, payload],
    ...(stderr ? [[`${command} (stderr)`, stderr] as [string, Schema]] : []),
  ]);
  return {
    failure: await describeDocument({ payload: FAILURE, isStream: false }),
    help: await describeDocument({ payload: union(VERB_HELP, GROUP_HELP), isStream: false }),
    version: await describeDocument({ payload: VERSION, isStream: false }),
    ...Object.fromEntries(verbs.flat()),
  };
}
