import { readFileSync, statSync } from 'node:fs';
import { fileVariableOf, OWN_SECRETS, readVariable } from '../config.ts';
import type { VariableName } from '../config.ts';

/** What a file was to say and does not. */
export interface BrokenFile {
  name: VariableName;
  /** The end of a sentence that begins with the name of the variable. */
  reason: string;
}

export interface ReadFiles {
  /** The environment, with what lies in files in its place. */
  variables: NodeJS.ProcessEnv;
  broken: BrokenFile[];
}

/** Reads the secrets that are given as `<NAME>_FILE`. White space at the end of a file is not part of its value. */
export function readSecretFiles(env: NodeJS.ProcessEnv): ReadFiles {
  const variables = { ...env };
  const broken: BrokenFile[] = [];
  for (const name of OWN_SECRETS) {
    const file = env[fileVariableOf(name)]?.trim();
    if (!file) continue;
    const read =
      readVariable(env, name) === undefined ? readSecret(file) : { reason: 'is set as well; keep one of the two' };
    if ('reason' in read) broken.push({ name, reason: read.reason });
    else variables[name] = read.value;
  }
  return { variables, broken };
}

/**
 * Takes the box's own secrets out of an environment, and answers it as it was: code of the workspace, and every process
 * it begins, finds what is its own there and nothing else.
 */
export function takeOwnSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const whole = { ...env };
  for (const name of OWN_SECRETS) {
    delete env[name];
    delete env[fileVariableOf(name)];
  }
  return whole;
}

// --- internal ---

/** Far more than any of them has; a list of headers is the longest. */
const LARGEST_BYTES = 64 * 1024;

function readSecret(file: string): { value: string } | { reason: string } {
  try {
    const found = statSync(file);
    if (!found.isFile()) return { reason: `names "${file}", which is no file` };
    if (found.size > LARGEST_BYTES) return { reason: `names "${file}", which is larger than ${LARGEST_BYTES} bytes` };
    const value = readFileSync(file, 'utf8').trimEnd();
    return value === '' ? { reason: `names "${file}", which is empty` } : { value };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return { reason: `names "${file}", which cannot be read (${code})` };
  }
}
