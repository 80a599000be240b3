import { Link } from '../ui/link.tsx';
import { Page } from '../ui/page.tsx';

export function Missing() {
  return (
    <Page title="There is no such page">
      The address may be of another version. <Link to="/">Go to the first page</Link>
    </Page>
  );
}

export function Refused({ title, permission }: { title: string; permission: string }) {
  return (
    <Page title={`${title} is not open to you`}>
      Your role does not hold <code>{permission}</code>. An owner of the organization can give you another one.
    </Page>
  );
}
