/**
 * Follows a reference within a schema (`#`, `#/$defs/name`); undefined if the target does not exist or is outside the
 * schema.
 */
export function targetOf(root: unknown, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let found: unknown = root
  for (const part of reference.slice(2).split('/')) {
    const name = pointerSegment(part)
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = Reflect.get(found, name)
  }
  return found
}

/** Whether a reference is a JSON pointer into the schema, and not a name or another document. */
export function isPointer(reference: string): boolean {
  return reference === '#' || reference.startsWith('#/')
}

/** Decodes a pointer segment to a name. */
export function pointerSegment(part: string): string {
  let decoded = part
  try {
    decoded = decodeURIComponent(part)
  } catch {
    // A lone % is an ordinary character.
  }
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Whether a schema is of a draft up to 7, in which keywords next to a `$ref` are ignored. */
export function isLegacySchema({ $schema: draft }: { readonly $schema?: unknown }): boolean {
  return typeof draft === 'string' && /\/draft-0[3-7]\/schema/.test(draft)
}
