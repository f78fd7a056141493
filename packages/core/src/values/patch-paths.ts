/** The paths that a patch of `apply_patch` names, joined by commas; undefined for another text. */
export function patchPaths(text: unknown): string | undefined {
  if (typeof text !== 'string' || !text.includes('*** Begin Patch')) return undefined
  const paths = [...text.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm)].map(([, path = '']) => path.trim())
  return paths.length === 0 ? undefined : paths.join(', ')
}
