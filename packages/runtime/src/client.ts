/** The client, for code that has the runtime; a page or another service installs `@svc/client` alone. */
export * from '@svc/client';
