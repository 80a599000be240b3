/** Names the run of a turn in the head of its answer: what is looked up and cancelled by, before the body is read. */
export function nameRun(response: Response, runId: string | undefined): Response {
  if (runId !== undefined) response.headers.set(RUN_HEADER, runId);
  return response;
}

// --- internal ---

const RUN_HEADER = 'x-svc-run-id';
