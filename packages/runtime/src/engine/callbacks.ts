/** What a run has handed to code that may call it on behalf of another run. */
export class Callbacks {
  /** Functions that nothing has called yet. */
  uncalled = 0;
  /** One of them was still at work when it returned: a caller may wait for its end. */
  hasStarted = false;
}

/** What the calls of a run end with that has left the process: only code that others share sees it. */
export function leftError(): Error {
  return new Error('The run has left this process; it goes on where it is loaded next.');
}
