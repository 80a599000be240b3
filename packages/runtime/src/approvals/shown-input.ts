import { toJsonValue } from '../json-value.ts';
import { beginningOf } from '../preview.ts';

/**
 * What a caller has sent, as an approval about it keeps it: a member that is too long is the beginning of its JSON, and `cut`
 * names it. The run has all of it. Made of the members alone, so a replay asks about the same.
 */
export function toShownInput(members: Record<string, unknown>): Record<string, unknown> {
  const shown = { ...members };
  const cut: string[] = [];
  for (const [name, value] of Object.entries(members)) {
    const json = JSON.stringify(toJsonValue(value)) ?? 'null';
    if (json.length <= SHOWN) continue;
    shown[name] = beginningOf(json, SHOWN);
    cut.push(name);
  }
  return cut.length > 0 ? { ...shown, cut } : shown;
}

// --- internal ---

/** Characters: lists of approvals read a few hundred of them. */
const SHOWN = 65_536;
