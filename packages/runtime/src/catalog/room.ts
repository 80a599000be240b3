import { defineRoom } from '../operations/room.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { createCatalog } from './catalog.ts';
import type { Catalog, ReservedAgent } from './catalog.ts';
import { createCatalogEntries } from './entries.ts';
import type { CatalogEntriesOptions } from './entries.ts';
import { discover, getCatalogEntry, listCatalog, updateCatalogEntry } from './operations.ts';
import type { CatalogOverrides } from './overrides.ts';

/** What the workspace declares, as it is loaded. */
export const catalogRoom = defineRoom({
  name: 'catalog',
  operations: [],
  create: ({ copilot }: { copilot: ReservedAgent }) => createCatalog(copilot),
});

export interface Given {
  catalog: Catalog;
  workflows: CatalogEntriesOptions['workflows'];
  overrides: CatalogOverrides;
  prompts: Prompts;
  settings: Pick<CatalogEntriesOptions, 'defaultModel'>;
}

/** The same with what an operator has chosen, as callers read it. */
export const entriesRoom = defineRoom({
  name: 'entries',
  operations: [discover, listCatalog, getCatalogEntry, updateCatalogEntry],
  create: ({ catalog, workflows, overrides, prompts, settings }: Given) =>
    createCatalogEntries({ catalog, workflows, overrides, prompts, defaultModel: settings.defaultModel }),
});
