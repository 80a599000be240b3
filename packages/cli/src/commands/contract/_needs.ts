import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Need } from '@svc/compiler';
import type { Contract, Problem } from '@svc/runtime/host';

/** The contract of the runtime this command came with: what an image built by it will offer. */
export async function readOwnContract(): Promise<Contract> {
  const { contractPayload } = await import('@svc/runtime/host');
  return contractPayload();
}

export interface ContractCheck {
  needs: Need[];
  /** What the workspace needs and the contract does not offer. */
  problems: Problem[];
}

export async function findContractProblems(root: string, contract: Contract): Promise<ContractCheck> {
  const { findNeeds } = await import('@svc/compiler');
  const needs = await findNeeds(root);
  const offered = new Set(contract.capabilities);
  const missing = needs.filter(({ capability }) => !offered.has(capability));
  return { needs, problems: [...missing.map(toProblem), ...checkRuntime(root, contract)] };
}

// --- internal ---

function toProblem({ capability, label, file, line, column }: Need): Problem {
  const message = `This uses ${label}, which needs the capability "${capability}". The box does not offer it: run a version that does, or leave it out.`;
  return { code: 'capability_missing', message, file, line, column, frame: '' };
}

/** The types a project compiles against must be those of the runtime it will run on: the two ship in step. */
function checkRuntime(root: string, { build }: Contract): Problem[] {
  const installed = findInstalled(root, build.name);
  if (installed === undefined || installed === build.version) return [];
  const message = `The project has ${build.name} ${installed} installed, and the box runs ${build.version}. Install ${build.name}@${build.version}.`;
  return [{ code: 'runtime_mismatch', message, file: 'package.json', line: 1, column: 1, frame: '' }];
}

/** The version Node would find from the workspace, or undefined: there is none. */
function findInstalled(root: string, name: string): string | undefined {
  for (let folder = root; ; folder = dirname(folder)) {
    const file = join(folder, 'node_modules', name, 'package.json');
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version;
    if (folder === dirname(folder)) return undefined;
  }
}
