/** A frame of a stream; `id` is where a later call goes on, as `lastEventId`. */
export interface Frame<E extends string, D> {
  id?: string;
  event: E;
  data: D;
}
