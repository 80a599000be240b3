import type { ArgsDef } from 'citty';

/** The flags every verb takes. */
export const GLOBAL_FLAGS = {
  json: { type: 'boolean', description: 'Print one JSON document.' },
  verbose: { type: 'boolean', description: 'Print requests and raw logs on stderr.' },
  'no-color': { type: 'boolean', description: 'Print without colour.' },
  help: { type: 'boolean', alias: 'h', description: 'Print this help; with --json the argument schema.' },
} as const satisfies ArgsDef;
