/** The bucket of an agent that names none: its slug, made to have the 3 to 63 characters and the good end of a bucket. */
export function toBucketName(slug: string): string {
  const name = slug.replace(/-+$/, '');
  return name.length < 3 ? `svc-${name}` : name;
}
