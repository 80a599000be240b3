/** `workflows/refund.workflow.ts`, or `.tsx`. */
const WORKFLOW_FILE = /^workflows\/([^/]+)\.workflow\.tsx?$/;

/** What a workflow file is called; undefined: the file is none. */
export function workflowFileName(file: string): string | undefined {
  return WORKFLOW_FILE.exec(file)?.[1];
}

/** Whether a path ends as a workflow file's does, wherever it lies. */
export function endsAsWorkflow(file: string): boolean {
  return /\.workflow\.tsx?$/.test(file);
}

/**
 * The name of each workflow of a file, by what it is exported as. The only one has the file's name. Of several, the
 * default export has it, and the others have their own: `sendInvoiceWorkflow` → `send-invoice`, `Billing.charge` →
 * `billing-charge`.
 */
export function nameWorkflows(file: string, exportNames: readonly string[]): Map<string, string> {
  const own = workflowFileName(file) ?? '';
  const isAlone = exportNames.length === 1;
  return new Map(exportNames.map((one) => [one, isAlone || one === 'default' ? own : nameOf(one)]));
}

// --- internal ---

function nameOf(exportName: string): string {
  const words = exportName
    .replace(/(.)Workflow$/, '$1')
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2');
  return words
    .toLowerCase()
    .replace(/[^a-z\d_]+/g, '-')
    .replace(/^[-_]+|-+$/g, '');
}
