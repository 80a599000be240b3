/** Takes the room that the answer will, so that nothing jumps. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="p-4">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="mb-2 h-6 animate-pulse rounded bg-raised" />
      ))}
    </div>
  );
}
