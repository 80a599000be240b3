// @ts-check
/**
 * The site of the documentation. A page has the address that its file has in the repository, so that a link is right in
 * both places; the README is the start.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { findDeadAnchors, writeTexts } from './_built.mjs';
import { captionFiles, keepBraces, toAnchor } from './_markdown.mjs';
import { START, listGroups, readSidebar } from './_pages.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export default defineConfig({
  srcDir: ROOT,
  // Everything else that ends with .md is of a package or a template.
  srcExclude: ['!(docs|playground)/**/*', 'playground/*/**/*', 'docs/.vitepress/**/*', 'SECURITY.md'],
  // What a reader serves there is no page of the site.
  ignoreDeadLinks: 'localhostLinks',
  rewrites: { [START]: 'index.md' },
  outDir: fileURLToPath(new URL('../../dist/docs', import.meta.url)),
  cacheDir: fileURLToPath(new URL('../../node_modules/.cache/vitepress', import.meta.url)),
  title: 'svc',
  description: 'Agents and durable workflows from files.',
  lang: 'en',
  // No icon: a browser asks for none.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    anchor: { slugify: toAnchor },
    config(markdown) {
      captionFiles(markdown);
      keepBraces(markdown);
    },
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/docs/guide/start' },
      { text: 'Recipes', link: '/docs/guide/recipes' },
      { text: 'Reference', link: '/docs/reference/routes' },
      { text: 'Design', link: '/docs/design/README' },
    ],
    sidebar: readSidebar(ROOT),
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: boostRecipes } } } },
  },
  vite: {
    // The repository is large, and little of it is of the site.
    optimizeDeps: { entries: [] },
    server: { watch: { ignored: ['**/{packages,templates,bench,torture,dist,.svc}/**'] } },
    build: { chunkSizeWarningLimit: 5000 },
  },
  buildEnd({ outDir, site: { base, title, description }, pages }) {
    const known = listGroups(ROOT).flatMap((group) => group.pages.map(({ file }) => file));
    const lost = pages.filter((page) => page !== START && !known.includes(page));
    if (lost.length > 0) throw new Error(`The sidebar has no ${lost.join(', ')}.`);
    const dead = findDeadAnchors({ root: ROOT, outDir, base });
    if (dead.length > 0) throw new Error(`Links to headings that are not there:\n${dead.join('\n')}`);
    writeTexts({ root: ROOT, outDir, base, title, description });
  },
});

// --- internal ---

/**
 * The reference has most words far more often than the recipe that is looked for by them. It is sent to the browser as text,
 * so it may use nothing from outside.
 * @param {string} page
 */
function boostRecipes(page) {
  return page.includes('/guide/recipes.html#') ? 2 : 1;
}
