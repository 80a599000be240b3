/** What a schema of zod 3 or zod 4 accepts, read from its shape so that no zod has to be found. */
export type InputOf<S> = S extends { _zod: { input: infer I } } ? I : S extends { _input: infer I } ? I : unknown;
