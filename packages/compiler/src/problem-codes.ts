/** Every code of a problem in an author's file, and what it means. A shipped code never changes; its meaning's words may. */
export const PROBLEM_CODES = {
  syntax_error: 'The file does not parse.',
  // Found where the module is loaded; shown among the others.
  module_load_failed: 'The module throws while it loads, or what it exports is not usable.',
  module_not_found: 'An import leads to no file and to no package.',
  export_missing: 'An import names what the module it is from does not export.',
  capability_missing: 'The code uses something the box it is checked against does not offer.',
  runtime_mismatch: 'The project depends on another version of the runtime than the one it is checked against.',
  schema_invalid: 'src/schema.ts declares what no database can have.',
  schema_ahead: 'src/schema.ts has changes that no migration holds.',
  schema_ambiguous: 'A change of src/schema.ts that no migration holds may mean two things, or loses something.',
  schema_unclear: 'A change of src/schema.ts is not written by itself.',
  migrations_invalid: 'The migrations of the project are incomplete, out of order, or cannot be read.',
  migration_changed: 'A migration of the project was edited after it was applied to the dev database.',
  drizzle_mismatch: 'The project has a drizzle-orm of another series than svc works with.',
  name_undefined: 'A workflow file uses a name that nothing declares.',
  name_invalid: 'The name of an agent folder or a workflow file cannot stand in a route.',
  name_refused: 'The name of a workflow is a route of the box.',
  name_clash: 'Two names differ only in case.',
  agent_entry_missing: 'A folder under deep-agents has no index.ts, or an agent stands in a file of another name.',
  agent_default_missing: 'An agent has no default export.',
  agent_name_mismatch: 'An agent calls itself something other than its folder.',
  config_default_missing: 'config.schema.ts has no default export.',
  skill_invalid: 'A skill has no description in its front matter, no text, or the name of another one.',
  workflow_missing: "A workflow file has no function marked 'use workflow'.",
  workflow_duplicate: 'Two workflows have the same name.',
  workflow_settings_unclear: 'A file with several workflows exports a setting, and does not say whose it is.',
  workflow_not_exported: "The function marked 'use workflow' is not exported.",
  workflow_outside_folder: "'use workflow' stands in a file that is no workflow file.",
  workflow_module_state:
    'A workflow body assigns a variable of a module, or changes an object of one, which a replay would do again.',
  workflow_not_replayable:
    'A workflow body calls what a replay could not repeat: a timer, the network, a file, true randomness.',
  directive_misspelled: 'A text is nearly a directive.',
  directive_misplaced: "A directive is not the first statement of a function's body.",
  directive_conflict: "A function is marked 'use workflow' and 'use step'.",
  directive_not_async: 'A marked function is not async.',
  directive_on_generator: 'A marked function is a generator.',
  step_unnamed: 'A step has no name to be found again by.',
  step_name_clash: 'Two steps of one file have the same name.',
  step_private_method: 'A step is a private method.',
  step_uses_super: 'A step of an object uses "super".',
  step_captures_scope: 'A step uses what cannot be recorded of the function around it, or assigns a variable of it.',
  step_outside_workspace: 'A step stands outside of the workspace.',
  // Found by `svc check` alone: the workflow runs.
  step_not_awaited: 'A workflow calls a step, or waits, and goes on without it.',
  // Found by the types, with `svc check --deep` alone.
  value_not_recordable: 'What a step or a workflow takes or returns is nothing the journal can keep.',
} as const satisfies Record<string, string>;

export type ProblemCode = keyof typeof PROBLEM_CODES;
