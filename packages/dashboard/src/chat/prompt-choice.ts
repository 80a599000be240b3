/** A version of a prompt, as the address of the Playground has it: `<id>@<version>`. */
export interface PromptChoice {
  id: string;
  version: number;
}

/** Undefined: it is none. */
export function parsePromptChoice(text: string | undefined): PromptChoice | undefined {
  const [, id, version] = /^([\w-]{1,64})@([1-9]\d{0,8})$/.exec(text ?? '') ?? [];
  return id === undefined ? undefined : { id, version: Number(version) };
}

/** What each turn says that is asked with it. */
export function toForwardedProps(text: string | undefined): { forwardedProps?: Record<string, unknown> } {
  const choice = parsePromptChoice(text);
  return choice ? { forwardedProps: { svc: { prompts: { [choice.id]: choice.version } } } } : {};
}
