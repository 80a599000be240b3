import { join } from 'node:path';
import ts from 'typescript';

/**
 * What `tsc -p` says about a folder, a line per error; empty when it has nothing to say. It runs in this process: what lies
 * outside of the folder, the libraries first of all, is parsed once for all folders with the same options.
 */
export function typecheck(root: string, overrides: ts.CompilerOptions = {}): string {
  const program = createProgram(root, overrides);
  return format(root, ts.getPreEmitDiagnostics(program));
}

/** The same, of the folder's own files: what they import is read, and not checked by rules that are not its own. */
export function typecheckOwn(root: string, overrides: ts.CompilerOptions = {}): string {
  const program = createProgram(root, overrides);
  const own = program.getSourceFiles().filter(({ fileName }) => isOwn(root, fileName));
  return format(root, [
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
  ]);
}

// --- internal ---

/** By options, then by what a file is parsed as. */
const parsed = new Map<string, Map<string, ts.SourceFile | undefined>>();

function createProgram(root: string, overrides: ts.CompilerOptions): ts.Program {
  const config = ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.json'), overrides, {
    ...ts.sys,
    getCurrentDirectory: () => root,
    onUnRecoverableConfigFileDiagnostic(diagnostic) {
      throw new Error(format(root, [diagnostic]));
    },
  });
  if (!config) throw new Error(`${root} has no tsconfig.json.`);
  const { fileNames, options, errors } = config;
  return ts.createProgram({
    rootNames: fileNames,
    options,
    host: createHost(root, options),
    configFileParsingDiagnostics: errors,
  });
}

function createHost(root: string, options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const known = filesParsedWith(options);
  return {
    ...host,
    getCurrentDirectory: () => root,
    getSourceFile(fileName, how, ...rest) {
      if (isOwn(root, fileName)) return host.getSourceFile(fileName, how, ...rest);
      const key = `${fileName} ${typeof how === 'object' ? how.impliedNodeFormat : ''}`;
      if (!known.has(key)) known.set(key, host.getSourceFile(fileName, how, ...rest));
      return known.get(key);
    },
  };
}

function filesParsedWith(options: ts.CompilerOptions): Map<string, ts.SourceFile | undefined> {
  // Where the folder is shapes no file outside of it.
  const key = JSON.stringify({ ...options, configFilePath: undefined, pathsBasePath: undefined });
  const files = parsed.get(key) ?? new Map<string, ts.SourceFile | undefined>();
  parsed.set(key, files);
  return files;
}

function isOwn(root: string, fileName: string): boolean {
  return fileName.startsWith(`${root}/`);
}

function format(root: string, diagnostics: readonly ts.Diagnostic[]): string {
  return ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(diagnostics), {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  });
}
