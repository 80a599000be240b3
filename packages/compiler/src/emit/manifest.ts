import type { Manifest } from '@svc/runtime/host';

/** `.svc/manifest.json`: the manifest as the runtime reads it. */
export function emitManifest(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
