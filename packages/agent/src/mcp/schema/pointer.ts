/** Follows a reference within a schema (`#`, `#/$defs/name`); undefined where it leads nowhere, or out of the schema. */
export function targetOf(root: unknown, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let found: unknown = root
  for (const part of reference.slice(2).split('/')) {
    const name = unescaped(part)
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = Reflect.get(found, name)
  }
  return found
}

/** Whether a reference is one to a place in the schema, and not to a name or another document. */
export function isPointer(reference: string): boolean {
  return reference === '#' || reference.startsWith('#/')
}

/** A part of a pointer as a name. */
export function unescaped(part: string): string {
  let decoded = part
  try {
    decoded = decodeURIComponent(part)
  } catch {
    // A lone % is a character like any other.
  }
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Whether a schema is of a draft up to 7, where keywords beside a `$ref` do not count. */
export function isLegacySchema({ $schema: draft }: { readonly $schema?: unknown }): boolean {
  return typeof draft === 'string' && /\/draft-0[3-7]\/schema/.test(draft)
}
