/** Where a workspace has a page of the docs, from its root: they come with the package. */
export function docsPath(page: string): string {
  return `node_modules/@svc/cli/dist/docs/${page}`;
}
