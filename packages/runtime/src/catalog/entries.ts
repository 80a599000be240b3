import { BoxError } from '../errors.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { WorkflowSchemas, WorkflowSummary } from './workflow.ts';
import type { Catalog, LoadedAgent } from './catalog.ts';
import type { CatalogDetail, CatalogEntry, CatalogKind } from './entry.ts';
import { createEntryWriter, SEPARATOR, toPrompt } from './entry-writer.ts';
import type { CatalogOverride, CatalogOverrides, OverridableKind } from './overrides.ts';

/** What the box serves, with what an operator chose for it. */
export interface CatalogEntries {
  /** Agents, workflows, tools, prompts, each by name. System entries and prompts only when they are asked for. */
  list(filter: { kind?: CatalogKind; system?: boolean; prompts?: boolean }): Promise<CatalogEntry[]>;
  /** Throws `catalog_entry_not_found`. */
  get(kind: CatalogKind, name: string): Promise<CatalogDetail>;
  /** In force from the next turn on. Throws `catalog_entry_not_found`, and `invalid_request` for the model or the limits of a workflow. */
  update(
    target: { kind: OverridableKind; name: string },
    change: Partial<CatalogOverride>,
    by: string,
  ): Promise<CatalogDetail>;
  /** The names that are not hidden. */
  listShown(kind: OverridableKind): Promise<string[]>;
}

/** What knows the workflows: a room above. */
export interface WorkflowLister {
  list(): WorkflowSummary[];
  get(name: string): WorkflowSummary;
  schema(name: string): Promise<WorkflowSchemas>;
}

export interface CatalogEntriesOptions {
  catalog: Catalog;
  workflows: WorkflowLister;
  overrides: CatalogOverrides;
  prompts: Pick<Prompts, 'list'>;
  defaultModel(): Promise<string | undefined>;
}

export function createCatalogEntries(options: CatalogEntriesOptions): CatalogEntries {
  const { catalog, workflows, overrides } = options;
  const { toAgent, toWorkflow, toTools } = createEntryWriter(options);
  const agentsOf = (system: boolean): LoadedAgent[] => {
    const copilot = system ? catalog.findAgent(COPILOT_AGENT) : undefined;
    return [...catalog.agents(), ...(copilot ? [copilot] : [])].toSorted((a, b) => compare(a.entry.name, b.entry.name));
  };
  const lists: Record<CatalogKind, (system: boolean) => Promise<CatalogEntry[]>> = {
    agent: (system) => Promise.all(agentsOf(system).map(toAgent)),
    workflow: () =>
      Promise.all(
        workflows
          .list()
          .toSorted((a, b) => compare(a.name, b.name))
          .map(toWorkflow),
      ),
    async tool(system) {
      const tools = (await Promise.all(agentsOf(system).map(toTools))).flat();
      return tools.map(({ entry }) => entry);
    },
    async prompt() {
      const entries: CatalogEntry[] = [];
      let cursor: string | null | undefined;
      do {
        const page = await options.prompts.list({}, { limit: 200, ...(cursor ? { cursor } : {}) });
        entries.push(...page.items.map(toPrompt));
        cursor = page.nextCursor;
      } while (cursor);
      return entries.toSorted((a, b) => compare(a.name, b.name));
    },
  };
  const details: Record<CatalogKind, (name: string) => Promise<CatalogDetail | undefined>> = {
    async agent(name) {
      const found = catalog.findAgent(name);
      return found && { ...(await toAgent(found)), ...NO_DETAIL, file: found.entry.file };
    },
    async workflow(name) {
      const found = catalog.findWorkflow(name);
      if (!found) return undefined;
      const summary = workflows.get(name);
      const schemas = found.definition ? await workflows.schema(name) : NO_SCHEMAS;
      return {
        ...(await toWorkflow(summary)),
        file: found.entry.file,
        inputSchema: schemas.input,
        outputSchema: schemas.output,
        stateSchema: schemas.state ?? null,
        steps: summary.steps,
        trigger: summary.trigger,
      };
    },
    async tool(name) {
      const found = catalog.findAgent(name.slice(0, name.lastIndexOf(SEPARATOR)));
      const one = found && (await toTools(found)).find(({ entry }) => entry.name === name);
      const inputSchema = one?.tool.model.parameters ?? null;
      return one && { ...one.entry, ...NO_DETAIL, file: found.entry.file, inputSchema };
    },
    async prompt(name) {
      const found = (await lists.prompt(false)).find((entry) => entry.name === name);
      return found && { ...found, ...NO_DETAIL };
    },
  };
  const get = async (kind: CatalogKind, name: string): Promise<CatalogDetail> => {
    const found = await details[kind](name);
    if (found) return found;
    throw new BoxError('catalog_entry_not_found', `There is no ${kind} "${name}" in the catalog.`);
  };

  return {
    async list({ kind, system = false, prompts = false }) {
      const all = (Object.keys(lists) as CatalogKind[]).filter((one) => prompts || one !== 'prompt');
      const kinds = all.filter((one) => kind === undefined || one === kind);
      return (await Promise.all(kinds.map((one) => lists[one](system)))).flat();
    },
    get,
    async update({ kind, name }, change, by) {
      await get(kind, name);
      if (kind === 'workflow' && change.model)
        throw new BoxError('invalid_request', 'A workflow has no model. Choose one for the agents it talks to.');
      if (kind === 'workflow' && change.limits)
        throw new BoxError('invalid_request', 'A workflow has no such limits: its code says how many run at once.');
      await overrides.set(kind, name, change, by);
      return get(kind, name);
    },
    listShown(kind) {
      const names = kind === 'agent' ? catalog.agents() : catalog.workflows();
      return overrides.listShown(
        kind,
        names.map(({ entry }) => entry.name),
      );
    },
  };
}

// --- internal ---

const NO_SCHEMAS: WorkflowSchemas = { input: null, output: null };
const NO_DETAIL = {
  file: null,
  inputSchema: null,
  outputSchema: null,
  stateSchema: null,
  steps: null,
  trigger: null,
};

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
