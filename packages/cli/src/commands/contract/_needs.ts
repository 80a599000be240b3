import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Need } from '@svc/compiler';
import type { Contract, Problem } from '@svc/runtime/host';
import { findInstalled } from '../../workspace/installed.ts';

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
  const { findNeeds, frameOf } = await import('@svc/compiler');
  const needs = await findNeeds(root);
  const offered = new Set(contract.capabilities);
  const missing = needs.filter(({ capability }) => !offered.has(capability));
  const problems = [...missing.map(toProblem), ...checkRuntime(root, contract)];
  return { needs, problems: problems.map((one) => ({ ...one, frame: frameOf(root, one) })) };
}

// --- internal ---

type Found = Omit<Problem, 'frame'>;

function toProblem({ capability, label, file, line, column }: Need): Found {
  const message = `This uses ${label}, which needs the capability "${capability}". The box does not offer it: run a version that does, or leave it out.`;
  return { code: 'capability_missing', message, file, line, column };
}

/** The types a project compiles against must be those of the runtime it will run on: the two ship in step. */
function checkRuntime(root: string, { build }: Contract): Found[] {
  const installed = findInstalled(root, build.name);
  if (installed === undefined || installed === build.version) return [];
  const message = `The project has ${build.name} ${installed} installed, and the box runs ${build.version}. Install ${build.name}@${build.version}.`;
  return [{ code: 'runtime_mismatch', message, file: 'package.json', ...placeOf(root, build.name) }];
}

/** Where package.json names the package; its beginning where another package brought it. */
function placeOf(root: string, name: string): { line: number; column: number } {
  const file = join(root, 'package.json');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const index = lines.findIndex((line) => line.includes(`"${name}"`));
  return { line: Math.max(0, index) + 1, column: Math.max(0, lines[index]?.indexOf(`"${name}"`) ?? 0) + 1 };
}
