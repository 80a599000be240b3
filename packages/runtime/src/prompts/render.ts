export type PromptVariables = Readonly<Record<string, string | number | boolean>>;

/** The text with `{{name}}` replaced by the variable of that name. Throws when it names one that is not given. */
export function renderPrompt(text: string, variables: PromptVariables): string {
  const missing = new Set<string>();
  const rendered = text.replace(PLACE, (place, name: string) => {
    if (Object.hasOwn(variables, name)) return String(variables[name]);
    missing.add(`"${name}"`);
    return place;
  });
  if (missing.size === 0) return rendered;
  const many = missing.size > 1 ? 'variables' : 'the variable';
  throw new Error(`The prompt uses ${many} ${[...missing].join(', ')}, which svc.prompts.render was not given.`);
}

// --- internal ---

const PLACE = /\{\{\s*([A-Za-z_]\w*)\s*\}\}/g;
