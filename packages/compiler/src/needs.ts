import type { types as t } from '@babel/core';
import { join } from 'node:path';
import { forEachChild, positionOf } from './ast.ts';
import type { Node, Position } from './ast.ts';
import { findText } from './files.ts';
import { packageNameOf } from './host-modules.ts';
import { createOrigins } from './origins.ts';
import { resolveNames } from './scope.ts';
import { loadParser } from './parse.ts';
import { scanWorkspace } from './scan.ts';

/** Something the workspace uses that not every box offers. */
export interface Need extends Position {
  /** As `/api/contract` names it. */
  capability: string;
  /** What uses it: `svc.storage`, `the agent "support"`. */
  label: string;
  file: string;
}

/** The members of the ambient client that are a capability of their own. */
export const CAPABILITIES: Readonly<Record<string, string>> = {
  'svc.database': 'database.postgres_direct',
  'svc.storage': 'storage.s3',
  'svc.browser': 'browser.provider',
  'svc.ai': 'ai.modelgateway',
  'svc.rag': 'rag.basic',
  'svc.prompts': 'prompts.basic',
  'svc.config': 'config.read_write',
  'svc.secrets': 'secrets.read_write',
};

/** What the code of a workspace asks of the box that runs it: the first use of each capability in each file. */
export async function findNeeds(root: string): Promise<Need[]> {
  const scan = await scanWorkspace({ root });
  const parse = loadParser();
  const agents = scan.agents.map(({ name, file }): Need => {
    return { capability: 'ai.modelgateway', label: `the agent "${name}"`, file, line: 1, column: 1 };
  });
  const uses = Object.keys(scan.files).flatMap((file) => {
    const text = findText(join(root, file)) ?? '';
    return MENTIONS.test(text) ? findUses(file, () => parse(text, file).program) : [];
  });
  return [...agents, ...uses].sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
}

// --- internal ---

const MENTIONS = /\bsvc\b[^]*\b(?:database|storage|browser|ai|rag|prompts|config|secrets)\b/;

function findUses(file: string, parse: () => t.Program): Need[] {
  const program = parseOrNothing(parse);
  if (!program) return [];
  const origins = createOrigins(resolveNames(program));
  const found = new Map<string, Need>();
  const visit = (node: Node): void => {
    const use = node.type === 'MemberExpression' || node.type === 'Identifier' ? origins.of(node) : undefined;
    const label =
      use && packageNameOf(use.from ?? '') ? Object.keys(CAPABILITIES).find((path) => path === use.path) : undefined;
    const capability = label && CAPABILITIES[label];
    if (label && capability && !found.has(capability))
      found.set(capability, { capability, label, file, ...positionOf(node) });
    forEachChild(node, visit);
  };
  visit(program);
  return [...found.values()];
}

/** A file that does not parse is a problem of its own, which `svc check` reports. */
function parseOrNothing<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
