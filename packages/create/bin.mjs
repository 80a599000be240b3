#!/usr/bin/env node
// Plain syntax and no import: this file must run on a Node that is too old.
const NODE_FLOOR = [20, 18];
const refusal = findRefusal();

if (refusal) {
  const isJson = process.argv.includes('--json');
  if (isJson) process.stdout.write(`${JSON.stringify({ schema_version: 1, error: refusal })}\n`);
  process.stderr.write(`${refusal.message}\n`);
  process.exitCode = 1;
} else {
  await import('./dist/main.mjs');
}

// --- internal ---

// The same below as in bin.mjs of @svc/cli: each is published alone, and neither may need a build to be refused.

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
