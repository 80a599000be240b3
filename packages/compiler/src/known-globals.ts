/** True for a global of Node, also of a later Node than this process runs on, and for what a module may be wrapped in. */
export function isKnownGlobal(name: string): boolean {
  return name in globalThis || WRAPPED.has(name) || LATER.has(name);
}

// --- internal ---

const WRAPPED = new Set(['arguments', 'require', 'module', 'exports', '__dirname', '__filename']);

const LATER = new Set([
  'AsyncDisposableStack',
  'CloseEvent',
  'DisposableStack',
  'ErrorEvent',
  'EventSource',
  'Float16Array',
  'Iterator',
  'Navigator',
  'Storage',
  'SuppressedError',
  'Temporal',
  'URLPattern',
  'WebSocket',
  'localStorage',
  'navigator',
  'sessionStorage',
]);
