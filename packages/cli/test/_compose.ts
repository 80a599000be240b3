import { createRequire } from 'node:module';

export interface Service {
  image: string;
  environment?: Record<string, string>;
  networks: string[];
  ports?: string[];
  volumes?: string[];
  configs?: { source: string; target: string }[];
  depends_on?: Record<string, { condition: string }>;
  [key: string]: unknown;
}

export interface Composition {
  name: string;
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
  volumes: Record<string, unknown>;
  configs: Record<string, { content: string }>;
}

/** Reads YAML with the parser that Vite has beside it. */
export function parseComposition(text: string): Composition {
  return yaml.parse(text, { strict: true, uniqueKeys: true }) as Composition;
}

/** The names a text asks for with `:?`. */
export function listRequired(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(/\$\{(\w+):\?/g), ([, name = '']) => name))].sort();
}

/** Puts values in as compose does: `${A}`, `${A:-b}` and `${A:?why}`, the last of which throws without a value. */
export function interpolate(text: string, values: Record<string, string>): string {
  const done = text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind?: string, rest = '') => {
    const value = values[name] ?? '';
    if (value !== '' || kind === undefined) return value;
    if (kind === '-') return rest;
    throw new Error(`required variable ${name} is missing a value: ${rest}`);
  });
  if (done.includes('$')) throw new Error('A "$" is left that compose would read.');
  return done;
}

// --- internal ---

const requireVite = createRequire(createRequire(import.meta.url).resolve('vite'));
const yaml = requireVite('yaml') as { parse(text: string, options: object): unknown };
