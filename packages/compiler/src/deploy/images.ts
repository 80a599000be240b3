/** The images of a deploy folder that others publish, each with its exact version. */
export const IMAGES = {
  /** PostgreSQL with the vector extension. */
  db: 'pgvector/pgvector:0.8.1-pg17',
  kv: 'valkey/valkey:8.1.10-alpine',
  objstore: 'versity/versitygw:v1.8.0',
} as const;

/** Ours, named with the version of the runtime they hold. */
export const OUR_IMAGES = { base: 'svc-runtime', controlPlane: 'svc-control-plane' } as const;

/** Whether a text names an image: `[host[:port]/]path[:tag][@digest]`. Nothing else may reach a Dockerfile. */
export function isImageReference(text: string): boolean {
  return text.length <= 255 && REFERENCE.test(text);
}

/** An image as any engine may call it: `localhost/a`, `docker.io/library/a` and `a:latest` are all `a:latest`. */
export function toCommonName(reference: string): string {
  const name = reference.replace(/^(?:localhost\/|docker\.io\/(?:library\/)?)/, '');
  return /[:@]/.test(name.slice(name.lastIndexOf('/') + 1)) ? name : `${name}:latest`;
}

/** A slug as the path of an image, which ends in a letter or digit and has no run of other characters but dashes. */
export function toImageName(slug: string): string {
  return slug.replace(/-+$/, '');
}

// --- internal ---

const WORD = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const HOST = '(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\\d{1,5})?/)?';
const REFERENCE = new RegExp(
  `^${HOST}${WORD}(?:/${WORD})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
);
