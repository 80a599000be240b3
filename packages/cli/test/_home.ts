import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { UTF8 } from './_setup.ts';

/** The environment of a person with an empty home, for whom the control plane is configured. */
export function makeHome(plane?: { url: string }): Record<string, string> {
  const home = mkdtempSync(join(tmpdir(), 'svc-home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return { ...UTF8, HOME: home, ...(plane ? { SVC_CONTROL_PLANE_URL: plane.url } : {}) };
}
