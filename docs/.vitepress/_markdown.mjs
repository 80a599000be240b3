// @ts-check
/** How the pages are read, so that they mean on the site what they mean in a repository's viewer. */

/**
 * The anchor of a heading, by the rule of GitHub: links to headings are right in both places.
 * @param {string} heading
 */
export function toAnchor(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/**
 * A block of code that is a file, which the line above it names behind the language, has that name on the site, too.
 * @param {import('vitepress').MarkdownRenderer} markdown
 */
export function captionFiles(markdown) {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const [, name = ''] = tokens[index]?.info.trim().split(/\s+/) ?? [];
    const caption = name.includes('.') ? `<p class="file">${markdown.utils.escapeHtml(name)}</p>\n` : '';
    return caption + (fence?.(tokens, index, ...rest) ?? '');
  };
}

/**
 * What stands in backticks is shown as it is: `{{name}}` is no expression of a page.
 * @param {import('vitepress').MarkdownRenderer} markdown
 */
export function keepBraces(markdown) {
  const { code_inline: inline } = markdown.renderer.rules;
  markdown.renderer.rules.code_inline = (tokens, index, ...rest) => {
    tokens[index]?.attrSet('v-pre', '');
    return inline?.(tokens, index, ...rest) ?? '';
  };
}
