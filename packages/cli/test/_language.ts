import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** What an editor offers at `|` in each of these files of the workspace, sorted. */
export function listCompletions(root: string, texts: readonly string[]): string[][] {
  const files = new Map(texts.map((text, i) => [join(root, `completion-${i}.ts`), text]));
  const read = (path: string) => files.get(path)?.replace('|', '') ?? ts.sys.readFile(path);
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
  const { fileNames, options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  const service = ts.createLanguageService({
    getScriptFileNames: () => [...fileNames, ...files.keys()],
    getScriptVersion: () => '1',
    getScriptSnapshot(path) {
      const text = read(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => options,
    getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
    fileExists: (path) => files.has(path) || ts.sys.fileExists(path),
    readFile: read,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    ...(ts.sys.realpath ? { realpath: ts.sys.realpath } : {}),
  });
  try {
    return [...files].map(([file, text]) => {
      const { entries = [] } = service.getCompletionsAtPosition(file, text.indexOf('|'), {}) ?? {};
      return entries.map(({ name }) => name).sort();
    });
  } finally {
    service.dispose();
  }
}
