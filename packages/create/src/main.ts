import { parseArgs } from 'node:util';
import { CreateError, createWorkspace } from './create.ts';

/** `npm create svc <dir> [-- --name <name>]` */
function main(): number {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { name: { type: 'string' } } });
  const [dir] = positionals;
  if (dir === undefined) {
    console.error('Name the folder to make: npm create svc my-workspace');
    return 1;
  }
  try {
    const made = createWorkspace({ dir, ...(values.name === undefined ? {} : { name: values.name }) });
    console.log(`Made "${made.name}" in ${made.dir}.\n\n  cd ${dir}\n  npm install\n  npm run dev`);
    return 0;
  } catch (error) {
    if (!(error instanceof CreateError)) throw error;
    console.error(error.message);
    return 1;
  }
}

process.exitCode = main();
