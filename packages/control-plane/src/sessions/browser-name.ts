/** What a person knows a browser by: `Firefox on Linux`. Null: it says nothing we know. */
export function nameBrowser(agent: string | null): string | null {
  const find = (names: readonly (readonly [string, RegExp])[]) => names.find(([, sign]) => sign.test(agent ?? ''))?.[0];
  const browser = find(BROWSERS);
  const system = find(SYSTEMS);
  if (browser === undefined) return null;
  return system === undefined ? browser : `${browser} on ${system}`;
}

// --- internal ---

/** In this order: most say that they are those further down, too. */
const BROWSERS = [
  ['Edge', /\bEdg(?:A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|HeadlessChrome|CriOS)\//],
  ['Safari', /\bSafari\//],
  ['curl', /^curl\//],
] as const;

const SYSTEMS = [
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const;
