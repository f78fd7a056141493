/** The fields of an object of unknown shape; none of what is no object. */
export function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  // An object may be asked for any field.
  return typeof value === 'object' && value !== null ? (value as { readonly [name: string]: unknown }) : {}
}
