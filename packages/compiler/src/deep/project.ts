import { join } from 'node:path';
import type * as TsMorph from 'ts-morph';
import { findFile } from '../files.ts';

/** The library itself, which is imported where types are asked for and nowhere else. */
export type Morph = typeof TsMorph;

export interface Typed {
  morph: Morph;
  project: TsMorph.Project;
}

/** The files of a workspace with their types, as its tsconfig.json has them. To load the library takes most of a second. */
export async function openTypes(root: string, files: readonly string[]): Promise<Typed> {
  const morph = await import('ts-morph');
  const config = join(root, 'tsconfig.json');
  const { ModuleKind, ModuleResolutionKind, ScriptTarget } = morph;
  const project = new morph.Project({
    ...(findFile(config) ? { tsConfigFilePath: config } : {}),
    compilerOptions: findFile(config)
      ? {}
      : {
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          target: ScriptTarget.ES2023,
          module: ModuleKind.NodeNext,
          moduleResolution: ModuleResolutionKind.NodeNext,
          allowImportingTsExtensions: true,
        },
    skipAddingFilesFromTsConfig: true,
    skipFileDependencyResolution: true,
  });
  project.addSourceFilesAtPaths([...files.map((file) => join(root, file)), join(root, '.svc/*.d.ts')]);
  return { morph, project };
}
