import { Empty } from '../ui/empty.tsx';
import { Link } from '../ui/link.tsx';

export function Missing() {
  return (
    <Empty title="There is no such page">
      The address may be of another version. <Link to="/">Go to the first page</Link>
    </Empty>
  );
}

export function Refused({ title, permission }: { title: string; permission: string }) {
  return (
    <Empty title={`${title} is not open to you`}>
      Your role does not hold <code>{permission}</code>. An owner of the organization can give you another one.
    </Empty>
  );
}
