/** Where a dev box says which folder it serves. Apart from what answers there: a command that asks loads no box. */
export const WORKSPACE_PATH = '/.svc/workspace';
