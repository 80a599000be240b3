import { BoxError } from '../../../errors.ts';

/** The journal was made by a newer release. It is left as it is. */
export function newerJournal(where: string, found: number, known: number): BoxError {
  const message =
    `The journal ${where} has schema version ${found}, and this build knows versions up to ${known}: ` +
    `a newer build has used it. Run that build or a later one, or use another journal.`;
  return new BoxError('database_newer', message, { details: { found, known } });
}
