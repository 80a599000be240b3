import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeWriteError } from '../../../../create/src/place.ts';
import { CliError } from '../../errors.ts';

/** Writes the whole file or none of it. Throws `write_failed`. */
export function writeWhole(file: string, text: string, { mode = 0o644 }: { mode?: number } = {}): void {
  const part = `${file}.${process.pid}.new`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(part, text, { mode });
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw new CliError('write_failed', `"${file}" cannot be written: ${describeWriteError(error)}.`, {
      suggestion: 'Check the path and who may write there.',
    });
  }
}
