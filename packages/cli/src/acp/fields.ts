/** The fields of an object of unknown shape; empty for anything else. */
export function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  // This cast is safe: any field of an object may be read.
  return typeof value === 'object' && value !== null ? (value as { readonly [name: string]: unknown }) : {}
}
