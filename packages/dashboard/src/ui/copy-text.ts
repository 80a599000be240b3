/**
 * Puts a text into the clipboard. A page that comes from another machine by plain http has no `navigator.clipboard`, and copies
 * what is marked in it instead. Throws where the browser lets neither.
 */
export async function copyText(text: string): Promise<void> {
  // The types say that it is always there.
  const { clipboard } = navigator as { clipboard?: Clipboard };
  if (clipboard) return clipboard.writeText(text);
  const before = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'sr-only';
  // What is behind an open dialog cannot be marked.
  (before?.closest('dialog') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  if (!isCopied) throw new Error('The browser lets this page copy nothing: mark the text, and copy it by hand.');
}
