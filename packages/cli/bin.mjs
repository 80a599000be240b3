#!/usr/bin/env node
// Plain syntax and one light import: this file must run on a Node that is too old, and answer --version at once.
import { readFileSync } from 'node:fs';

const NODE_FLOOR = [20, 18];
const argv = process.argv.slice(2);
const refusal = findRefusal();

if (refusal) {
  if (argv.includes('--json')) process.stdout.write(`${JSON.stringify({ schema_version: 1, error: refusal })}\n`);
  process.stderr.write(`${refusal.message}\n`);
  process.exitCode = 1;
} else if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'));
  process.stdout.write(`${version}\n`);
} else if (argv[0] === 'complete' && argv[1] === '--') {
  const { printChoices } = await import('./dist/quick.mjs');
  process.stdout.write(printChoices(argv.slice(2)));
} else {
  const { main } = await import('./dist/main.mjs');
  process.exitCode = await main(argv);
  // A timer of the workspace's own code, or a step under way, must not keep a stopped box alive.
  setTimeout(() => process.exit(), 200).unref();
}

// --- internal ---

// The same below as in bin.mjs of create-svc: each is published alone, and neither may need a build to be refused.

function findRefusal() {
  const native = process.platform === 'win32' && !process.env.MSYSTEM && !process.env.WSL_DISTRO_NAME;
  if (native) {
    return refuse(
      'svc does not run in a native Windows shell. It runs on macOS, on Linux, and on Windows in WSL2 or Git Bash.',
      'Open WSL2 or Git Bash and run it there.',
    );
  }
  const [major, minor] = process.versions.node.split('.').map(Number);
  const tooOld = major < NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor < NODE_FLOOR[1]);
  if (tooOld) {
    const floor = NODE_FLOOR.join('.');
    return refuse(
      `svc needs Node ${floor} or later; this is Node ${process.versions.node}.`,
      `Install Node ${floor} or later.`,
    );
  }
  return undefined;
}

function refuse(message, suggestion) {
  return { code: 'unsupported_platform', message, suggestion, details: {} };
}
