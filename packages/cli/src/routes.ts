/** The routes a box speaks of as the verbs a person at a terminal has for them. A route without a verb stays. */
export function toVerbs(text: string): string {
  return VERBS.reduce((shown, [route, verb]) => shown.replaceAll(route, verb), text);
}

/** The name in the path of a request: what a suggestion about it leaves open. */
export function findName(url: string): string | undefined {
  const [, segment = ''] = /\/api\/(?:recurring-jobs|[a-z]+)\/([^/?]+)/.exec(url) ?? [];
  const name = decodeURIComponent(segment);
  // Whatever else would need quotes, and those are another matter in each shell.
  return /^[\w.:@-]+$/.test(name) ? name : undefined;
}

// --- internal ---

const VERBS: [route: RegExp, verb: string][] = [
  [/POST \/api\/runs\/([^/\s]+)\/retry with \{"from":"([a-z-]+)"\}/g, '`svc runs retry $1 --from $2`'],
  [/POST \/api\/runs\/([^/\s]+)\/(retry|resume|cancel)\b/g, '`svc runs $2 $1`'],
  [
    /POST \/api\/approvals\/([^/\s]+)\/decide with \{"decision":"approve"\} or \{"decision":"reject"\}/g,
    '`svc hitl approve $1` or `svc hitl reject $1`',
  ],
  [/POST \/api\/secrets\/([\w-]+)\/rotate\b/g, '`svc secrets rotate $1`'],
  [/PUT \/api\/secrets\/([\w-]+)/g, '`svc secrets set $1`'],
  [/"\?agent="/g, '--agent-name'],
  [/send PUT \/api\/model-provider\b/g, 'run `svc provider set <address>`'],
];
