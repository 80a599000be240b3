/** As much of JSON Schema as inputs and answers are made of. */
export interface Schema {
  type?: string | string[];
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  properties?: Record<string, Schema>;
  required?: readonly string[];
  additionalProperties?: unknown;
  items?: Schema;
  format?: string;
  minimum?: number;
  maximum?: number;
  default?: unknown;
  description?: string;
}
