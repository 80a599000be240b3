import { useState } from 'react';

/** A picture of a message. One that does not come, as its address is over or leads to where this page asks nothing, is named. */
export function Picture({ url }: { url: string }) {
  const [lost, setLost] = useState<string>();
  if (lost === url) return <p className="rounded-lg bg-accent-soft px-3 py-2 text-muted">[image]</p>;
  return (
    <img
      src={url}
      alt="Sent with the message"
      referrerPolicy="no-referrer"
      className="max-h-80 max-w-full rounded-lg border border-line object-contain"
      onError={() => setLost(url)}
    />
  );
}
