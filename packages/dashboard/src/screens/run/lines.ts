// What a page gives to be pasted into a terminal of the workspace.

/** Writes a test that holds the code of a run to what it has recorded. */
export function toTestLine({ runId, name }: { runId: string; name: string }): string {
  // No word of it is one that a shell would read as more.
  const file = name.replace(/[^\w-]+/g, '-').replace(/^-+|-+$/g, '') || 'run';
  return `svc replay ${runId} --promote tests/${file}-${runId.slice(-8)}.test.ts`;
}

/** Makes a case of an eval of a run. */
export function toCaseLine({ runId }: { runId: string }): string {
  return `svc pull run ${runId} --promote eval`;
}
