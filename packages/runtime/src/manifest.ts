/**
 * The only bridge between compiler and runtime: what a scan of the workspace found, as plain data.
 * Every `file` is relative to the workspace root with forward slashes.
 */
export interface Manifest {
  version: 1;
  agents: AgentEntry[];
  workflows: WorkflowEntry[];
  /** The keys of the dynamic configuration, in code. Absent: there are none. */
  configSchema?: ConfigSchemaEntry;
  /** The project's own tables. Absent: there are none. */
  databaseSchema?: DatabaseSchemaEntry;
  /** Rules about what may pass, in code. Absent: there are none. */
  guardrails?: DeclaredEntry[];
  /** Services of others that the workspace calls, in code. Absent: there are none. */
  connections?: DeclaredEntry[];
  /** What judges the answers of evals, in code. Absent: there are none. */
  scorers?: DeclaredEntry[];
}

export interface AgentEntry {
  /** The folder name; also the `model` value of a request. */
  name: string;
  file: string;
  /** The text of `instructions.md` beside the code. */
  instructions?: string;
  /** What `skills/*.md` beside the code hold, by file name. */
  skills?: SkillEntry[];
  /** Why this agent cannot load. The box answers for the others and names this one. */
  problem?: Problem;
}

/** `config.schema.ts`. */
export interface ConfigSchemaEntry {
  file: string;
  /** Why it cannot load. */
  problem?: Problem;
}

/** `src/schema.ts`. */
export interface DatabaseSchemaEntry {
  file: string;
}

/** `guardrails/<name>.guardrail.ts`, `connections/<id>.connection.ts`, `evals/<name>.scorer.ts`. */
export interface DeclaredEntry {
  name: string;
  file: string;
  /** Why it cannot load. */
  problem?: Problem;
}

/** A Markdown file an agent can look up: its front matter names and describes it. */
export interface SkillEntry {
  name: string;
  description: string;
  text: string;
}

export interface WorkflowEntry {
  /** The file's basename without `.workflow.ts`; of a file with several workflows, made of the function's own name. */
  name: string;
  file: string;
  /** The exported function marked 'use workflow', or the static method as `Billing.charge`; null when a problem hides it. */
  exportName: string | null;
  steps: StepEntry[];
  /** What the author assigned to the function itself, such as `inputSchema`. Absent: nothing. */
  settings?: string[];
  /** Where its schedules stand in the file, in their order; one place: that of all of them. Absent: it has none. */
  schedulePlaces?: { line: number; column: number }[];
  hasInputSchema: boolean;
  hasOutputSchema: boolean;
  /** Absent: it has none. */
  hasStateSchema?: boolean;
  problem?: Problem;
}

export interface StepEntry {
  /** `<path from the workspace root>#<name or enclosing path>`: the same in dev, in a build and on every machine. */
  id: string;
  name: string;
  line: number;
}

/** Something wrong in an author's file, with the place and what to do. */
export interface Problem {
  /** Stable: `agent_name_mismatch`, `directive_misspelled`, ... */
  code: string;
  /** One sentence: what is wrong, the thing in quotes, what to do. */
  message: string;
  file: string;
  /** 1-based. */
  line: number;
  /** 1-based. */
  column: number;
  /** The source around the place, as a code frame without colour. */
  frame: string;
}

/** A loader may attach the place to the error as `problem`; otherwise the file is all that is known. */
export function problemOf(error: unknown, file: string, code = 'module_load_failed'): Problem {
  const attached = (error as { problem?: Problem } | null)?.problem;
  if (attached) return attached;
  const message = error instanceof Error ? error.message : String(error);
  return { code, message, file, line: 1, column: 1, frame: '' };
}

/** `manifest.json` of a built workspace: the manifest, what it was built for, and where its modules are. */
export interface BundleManifest extends Manifest {
  slug: string;
  /** The runtime of the build: the protocol it speaks, and its package. */
  runtime: { contract: number; name: string; version: string };
  /** The file of `modules` that holds the workspace's settings. Absent: there are none. */
  config?: string;
  /**
   * By the file in the workspace: its module's path in the bundle, the hash `svc dev` gives it too, and the paths of all it
   * needs. Without these, of an earlier build, it is kept for no run.
   */
  modules: Record<string, { path: string; hash: string; files?: string[] }>;
  /** The migrations of the project's own tables, in order, each with the hash of its file. Absent: there are none. */
  migrations?: { name: string; path: string; hash: string }[];
}

/** A loaded module of the workspace. */
export interface LoadedModule {
  exports: Record<string, unknown>;
  /** Hash of the transformed code of this module and every workspace module it imports. */
  hash: string;
  /** What it is made of, to be kept for the runs that begin with it. Absent: it cannot be kept. */
  compiled?: () => Promise<CompiledModule>;
}

/** A module and all that it imports, but for the runtime. */
export interface CompiledModule {
  /** The path of the module among the files. */
  path: string;
  /** Relative paths with forward slashes. */
  files: { path: string; content: Uint8Array }[];
}

/** A manifest and the way to load what it names: from disk through Vite in dev, from a bundle in a build. */
export interface Program {
  manifest: Manifest;
  /** A later one of the same process may define again what its modules do: the runs of each keep to their own. */
  isEdited?: true;
  load(file: string): Promise<LoadedModule>;
}

/** The reserved agent name: a folder with it replaces the built-in copilot and never appears in lists. */
export const COPILOT_AGENT = 'studio-copilot';

/** Workflow names that would collide with a route. */
export const REFUSED_WORKFLOW_NAMES = ['runs', 'hooks'] as const;
