import { BoxError } from '../errors.ts';

export function caseNotFound(id: string): BoxError {
  return new BoxError('eval_case_not_found', `There is no eval case "${id}".`);
}

export function suiteNotFound(id: string): BoxError {
  return new BoxError('eval_suite_not_found', `There is no eval suite "${id}".`);
}

export function runNotFound(id: string): BoxError {
  return new BoxError('eval_run_not_found', `There is no eval run "${id}".`);
}

export function suiteExists(name: string): BoxError {
  return new BoxError('eval_suite_exists', `There is an eval suite "${name}" already. Take another name.`);
}

/** @param reason a sentence that names what is in the way */
export function notRunnable(suite: string, reason: string): BoxError {
  return new BoxError('eval_suite_not_runnable', `The eval suite "${suite}" cannot be launched. ${reason}`, {
    details: { suite, reason },
  });
}
